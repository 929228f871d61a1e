// For tests: an engine with the fake runtime, which dies when it is told to. The path of the model
// says when: "decode_tokens 2" = in its second call on text, "load" = while it loads; "refuse" does
// not load. "encode 1 2 3" = in its second and third life, which it counts in a file that the
// environment names; else in its first.
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "runtime/fake/fake_runtime.h"
#include "runtime/remote/engine_server.h"
#include "sandbox/child_process.h"

namespace {

using namespace tessera;
using runtime::fake::Call;

const std::map<std::string, Call> kCalls{
    {"template", Call::kApplyChatTemplate},
    {"tokenize", Call::kTokenize},
    {"prepare", Call::kPrepare},
    {"encode", Call::kEncode},
    {"decode_tokens", Call::kDecodeTokens},
    {"decode_visual", Call::kDecodeVisual},
    {"make_sampler", Call::kMakeSampler},
    {"sample", Call::kSample},
};

/// Lives of this engine so far, counted in a file.
int count_life(const std::string& path) {
  int n_lives = 0;
  std::ifstream(path) >> n_lives;
  std::ofstream(path) << ++n_lives;
  return n_lives;
}

Result<runtime::LoadedModel> load(const runtime::LoadOptions& options) {
  std::istringstream plan(options.model_path);
  std::string call;
  int nth = 1;
  int first_life = 1;
  int last_life = 1;
  plan >> call >> nth >> first_life >> last_life;
  const char* lives_file = std::getenv("LIVES_FILE");
  const int life = lives_file == nullptr ? 1 : count_life(lives_file);
  const bool dies = first_life <= life && life <= last_life;
  runtime::fake::FakeOptions fake;
  fake.control = std::make_shared<runtime::fake::FakeControl>();
  fake.n_sequences_max = options.n_sequences_max;
  if (dies && call == "load") std::abort();
  if (dies && call == "refuse") {
    return make_error(ErrorCode::kNotFound, "model_not_found", "there is no such model");
  }
  if (dies && kCalls.contains(call)) {
    fake.control->fail(kCalls.at(call), nth, runtime::fake::Effect::kDies);
  }
  return runtime::fake::load(fake);
}

}  // namespace

int main() {
  sandbox::Channel control{UniqueFd(sandbox::kChildChannelFd)};
  runtime::remote::serve_engine(std::move(control), {load, [] { return std::string("fake"); }});
}
