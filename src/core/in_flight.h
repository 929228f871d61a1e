// A request on its way through the stages. One owner at a time: it moves by unique_ptr from queue
// to queue, and whoever holds it ends it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/arriving_features.h"
#include "core/digest.h"
#include "core/embedding.h"
#include "core/ids.h"
#include "core/limits.h"
#include "core/prompt.h"
#include "core/request.h"
#include "core/token_event.h"

namespace tessera {

/// Where an image of the prompt comes from.
struct FrameSource {
  Digest content;           // SHA-256 of the file's bytes
  std::uint32_t frame = 0;  // of the file
};

/// @thread the holder's; the stop token may be triggered from anywhere
class InFlight {
 public:
  InFlight(RequestId id, TenantId tenant, Request request, const Limits& limits, Trace trace,
           TimePoint deadline, std::stop_token stop, std::shared_ptr<EventSink> sink)
      : id(id),
        tenant(tenant),
        request(std::move(request)),
        limits(limits),
        trace(std::move(trace)),
        deadline(deadline),
        stop(std::move(stop)),
        sink_(std::move(sink)) {}
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  /// A request that nobody ended is a bug; it still gets its terminal event.
  ~InFlight();

  /// The reason why work on this request should end now, if there is one: cancelled, past its
  /// deadline, or bound to be. Checked at each stage border and before each step.
  /// @param at_least  how long what is left of it takes if nothing stands in its way; zero = nobody
  ///                  knows
  std::optional<Error> should_stop(TimePoint now, Duration at_least = {}) const;

  /// Takes a request that is to be done again, from its media on.
  using Redo = std::function<void(std::unique_ptr<InFlight>)>;
  /// Lets the request be done again, once, when the engine is lost before any of its answer was
  /// sent. Until then its media is kept.
  /// @param redo  called inside end(), on the holder's thread
  void allow_redo(Redo redo) { redo_ = std::move(redo); }

  /// From the first event on, the request can not be done again.
  void push(StreamEvent event);

  /// Its media was decoded. Keeps the files if it may have to be done again.
  void release_media();

  /// Sends the terminal event and closes the trace's last stage as Stage::kEmit, which the
  /// receiver finishes. Exactly once. Or hands the request to be done again.
  void end(std::optional<Error> error, TimePoint now);
  /// The same for a request that asked for its plan alone.
  void end_with(PlanReport plan, TimePoint now);

  const RequestId id;
  const TenantId tenant;
  Request request;
  const Limits limits;  // the operator's, lowered where the request asks for less
  Trace trace;
  const TimePoint deadline;
  const std::stop_token stop;

  /// What it holds until it ends, whoever that concerns; e.g. its place in admission.
  std::shared_ptr<void> holds;

  /// What it holds as long as its media is here; e.g. a part of the memory for fetched media.
  std::shared_ptr<void> media_holds;

  /// Its place among the requests whose media is fetched, until it is decoded.
  std::shared_ptr<void> fetch_holds;

  /// Its messages as they came, where media turned into several images of them.
  std::vector<Message> asked_messages;

  /// Memory for its prepared tiles, until they are encoded, and for its features, until they are
  /// prefilled.
  std::shared_ptr<void> tile_holds;
  std::shared_ptr<void> feature_holds;

  // Filled by the stages, in this order.
  std::vector<FrameSource> frames;  // one per image of the prompt, in order
  Prompt prompt;
  // One of each per VisualSegment, in order. A tile is there while its embedding is not.
  std::vector<Digest> feature_keys;
  std::vector<std::unique_ptr<PreparedTile>> tiles;
  std::vector<std::shared_ptr<const Embedding>> embeddings;
  /// Where those come from that are not there yet when the engine gets the request. Null = all are.
  std::shared_ptr<ArrivingFeatures> arriving;

 private:
  void send_end(StreamEnd end, TimePoint now);
  void start_again();

  std::shared_ptr<EventSink> sink_;
  Redo redo_;  // empty = it may not be done again
  bool ended_ = false;
};

}  // namespace tessera
