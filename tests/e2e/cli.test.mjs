// The command line as people and scripts use it: what goes where, and with which exit code.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { bands, greyJpeg } from './support/pictures.mjs';
import { ROOT, run } from './support/program.mjs';
import { MODEL } from './support/questions.mjs';

const OK = 0;
const USAGE = 2;
const REFUSED = 3;
const INTERRUPTED = 130;

const SHAPES = path.join(ROOT, 'models/tessera-tiny/heldout/images/000-shapes.png');
const QUESTION = 'How many circles are there?';

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** A folder for the files of a `describe`. */
function useFolder() {
  const holder = {
    /** Writes a file and gives its path. */
    async file(name, content) {
      const file = path.join(holder.folder, name);
      await writeFile(file, content);
      return file;
    },
  };
  before(async () => {
    holder.folder = await mkdtemp(path.join(tmpdir(), 'tessera-e2e-'));
  });
  after(() => rm(holder.folder, { recursive: true }));
  return holder;
}

describe('tessera ask', () => {
  const folder = useFolder();

  test('prints the answer on standard output and the stages on standard error', async () => {
    const { code, stdout, stderr } = await run(['ask', SHAPES, QUESTION]);

    assert.equal(code, OK, stderr);
    assert.equal(stdout, '3\n');
    for (const row of ['media decode', 'vision encode + projector', 'prefill, visual', 'decode', 'total']) {
      assert.ok(stderr.includes(row), `no "${row}" in\n${stderr}`);
    }
    assert.match(stderr, /1 image, 1 tile; tokens: 36 visual, \d+ text, \d+ output/);
  });

  test('--quiet prints the answer and nothing else', async () => {
    for (const flag of ['--quiet', '-q']) {
      const { code, stdout, stderr } = await run(['ask', flag, SHAPES, QUESTION]);

      assert.deepEqual({ code, stdout, stderr }, { code: OK, stdout: '3\n', stderr: '' });
    }
  });

  test('--json prints one object with answer, usage and stages', async () => {
    const { code, stdout, stderr } = await run(['ask', '--json', SHAPES, QUESTION]);

    assert.equal(code, OK, stderr);
    assert.equal(stderr, '');
    const result = JSON.parse(stdout);
    assert.equal(result.model, MODEL);
    assert.equal(result.answer, '3');
    assert.equal(result.finish_reason, 'stop');
    assert.equal(result.usage.prompt_tokens_details.image_tokens, 36);
    const { stages_seconds, total_seconds } = result.tessera;
    assert.ok(Math.abs(sum(Object.values(stages_seconds)) - total_seconds) <= 0.02 * total_seconds);
  });

  test('takes no image, several images, and other formats', async () => {
    const jpeg = await folder.file('grey.jpg', greyJpeg(112, 112));

    const none = await run(['ask', '--json', 'Is there a red star?']);
    const several = await run(['ask', '--json', SHAPES, jpeg, QUESTION]);

    assert.equal(JSON.parse(none.stdout).tessera.n_images, 0);
    assert.equal(JSON.parse(several.stdout).tessera.n_images, 2);
    assert.equal(JSON.parse(several.stdout).tessera.n_visual_tokens, 36 + 16);
  });

  test('--max-tokens, --temperature and --seed shape the answer', async () => {
    const picture = await folder.file('bands.png', bands());
    const sampled = ['ask', '--json', '--max-tokens', '9', '--temperature', '1', picture, 'Read it.'];
    const [first, again] = [
      await run([...sampled, '--seed', '7']),
      await run([...sampled, '--seed', '7']),
    ].map(({ stdout }) => JSON.parse(stdout));

    assert.equal(first.answer, again.answer);
    assert.ok(first.usage.completion_tokens <= 9);
  });

  test('a question that starts with a dash comes after --', async () => {
    const { code, stderr } = await run(['ask', '--quiet', SHAPES, '--', '-- how many circles?']);

    assert.equal(code, OK, stderr);
  });

  test('a missing image is refused with its name', async () => {
    const missing = path.join(folder.folder, 'nowhere.png');
    const { code, stdout, stderr } = await run(['ask', missing, QUESTION]);

    assert.equal(code, REFUSED);
    assert.equal(stdout, '');
    assert.match(stderr, /^tessera: image 1 \(.*nowhere\.png\): no such file\n$/);
  });

  test('a file that is no image is refused', async () => {
    const text = await folder.file('text.png', 'no image at all');
    const { code, stdout, stderr } = await run(['ask', text, QUESTION]);

    assert.equal(code, REFUSED);
    assert.equal(stdout, '');
    assert.match(stderr, /^tessera: image 1\b.*JPEG, PNG, WebP, GIF/);
  });

  test('with --json a refusal is an object on standard output', async () => {
    const text = await folder.file('text.jpg', 'no image at all');
    const { code, stdout, stderr } = await run(['ask', '--json', text, QUESTION]);

    assert.equal(code, REFUSED);
    assert.equal(stderr, '');
    assert.equal(JSON.parse(stdout).error.reason, 'image_format_unsupported');
  });

  test('too much text is refused with both numbers', async () => {
    const { code, stderr } = await run(['ask', 'word '.repeat(10_000)]);

    assert.equal(code, REFUSED);
    assert.match(stderr, /\d{5} tokens.*8192/);
  });

  test('SIGINT in the middle of an answer leaves with 130 and ends the line', async () => {
    const picture = await folder.file('long.png', bands());
    let interrupted = false;
    const { code, signal, stdout } = await run(
      ['ask', picture, 'List the shapes from left to right.', '--max-tokens', '4000'],
      {
        onStdout(text, child) {
          if (!interrupted) child.kill('SIGINT');
          interrupted = true;
        },
      },
    );

    assert.deepEqual({ code, signal }, { code: INTERRUPTED, signal: null });
    assert.match(stdout, /^\S[^]*\n$/);
    assert.ok(stdout.length < 20_000);
  });
});

describe('tessera plan', () => {
  const folder = useFolder();

  test('--json tells sizes, tiles, tokens and costs of each image', async () => {
    const jpeg = await folder.file('grey.jpg', greyJpeg(300, 200));
    const { code, stdout, stderr } = await run(['plan', '--json', SHAPES, jpeg]);

    assert.equal(code, OK, stderr);
    const plan = JSON.parse(stdout);
    assert.deepEqual(plan.images[0].source, { width: 168, height: 168 });
    assert.deepEqual(plan.images[1].source, { width: 300, height: 200 });
    for (const image of plan.images) {
      assert.equal(image.n_tiles, 1);
      assert.equal(image.planned.width % 28, 0);
      assert.equal(image.planned.height % 28, 0);
      assert.equal(image.n_visual_tokens, (image.planned.width * image.planned.height) / 28 ** 2);
      assert.equal(image.n_patches, 4 * image.n_visual_tokens);
    }
    assert.equal(plan.n_visual_tokens, sum(plan.images.map((image) => image.n_visual_tokens)));
    for (const cost of ['encode_flops', 'prefill_flops', 'kv_bytes']) assert.ok(plan[cost] > 0, cost);
  });

  test('plans exactly the tokens that ask then uses', async () => {
    const jpeg = await folder.file('odd.jpg', greyJpeg(301, 97));
    const plan = JSON.parse((await run(['plan', '--json', jpeg])).stdout);
    const answer = JSON.parse((await run(['ask', '--json', jpeg, QUESTION])).stdout);

    assert.equal(answer.tessera.n_visual_tokens, plan.n_visual_tokens);
    assert.equal(answer.tessera.n_tiles, sum(plan.images.map((image) => image.n_tiles)));
  });

  test('prints a table for people', async () => {
    const { code, stdout, stderr } = await run(['plan', SHAPES]);

    assert.equal(code, OK, stderr);
    assert.match(stdout, /168×168\s+168×168\s+1\s+144\s+36/);
    assert.match(stdout, /FLOP/);
  });

  test('refuses what ask refuses', async () => {
    const text = await folder.file('text.png', 'no image at all');

    assert.equal((await run(['plan', text])).code, REFUSED);
    assert.equal((await run(['plan', path.join(folder.folder, 'nowhere.png')])).code, REFUSED);
    assert.equal((await run(['plan'])).code, USAGE);
  });
});

describe('tessera version and help', () => {
  test('version --json names version, runtime and build', async () => {
    const { code, stdout } = await run(['version', '--json']);

    assert.equal(code, OK);
    const version = JSON.parse(stdout);
    assert.match(version.version, /^\d+\.\d+\.\d+/);
    assert.match(version.runtime, /^llama [0-9a-f]{12}$/);
    assert.notEqual(version.build, '');
    assert.ok((await run(['--version'])).stdout.includes(version.version));
  });

  test('--help of every command has usage, an example and the exit codes', async () => {
    for (const command of [[], ['ask'], ['serve'], ['plan'], ['version']]) {
      const { code, stdout, stderr } = await run([...command, '--help']);

      assert.equal(code, OK, stderr);
      assert.ok(stdout.startsWith(`usage: ${['tessera', ...command].join(' ')}`), stdout);
      assert.match(stdout, /\nexample:\n {2}tessera /);
      assert.match(stdout, /\nexit codes:\n/);
      for (const exitCode of [OK, USAGE, REFUSED, INTERRUPTED]) {
        assert.match(stdout, new RegExp(`^ {2}${exitCode} `, 'm'));
      }
      for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
    }
  });

  test('wrong usage leaves with 2 and says where help is', async () => {
    for (const args of [
      [],
      ['frobnicate'],
      ['ask'],
      ['ask', '--frobnicate', QUESTION],
      ['ask', '--max-tokens', 'many', QUESTION],
      ['ask', '--temperature', '3', QUESTION],
      ['serve', '--frobnicate'],
      ['serve', 'now'],
      ['version', '--frobnicate'],
    ]) {
      const { code, stdout, stderr } = await run(args);

      assert.equal(code, USAGE, args.join(' '));
      assert.equal(stdout, '');
      assert.match(stderr, /^tessera: .*tessera .*--help\n$/);
    }
  });

  test('an option that is nearly right is suggested', async () => {
    const { stderr } = await run(['ask', '--qiet', QUESTION]);

    assert.match(stderr, /--qiet.*--quiet/);
  });
});

describe('settings', () => {
  const folder = useFolder();

  /** The value and the source of one setting as --print-config shows them. */
  async function setting(key, args, env) {
    const { code, stdout, stderr } = await run(['serve', '--print-config', ...args], { env });
    assert.equal(code, OK, stderr);
    const line = stdout.split('\n').find((text) => text.startsWith(`${key} = `));
    assert.notEqual(line, undefined, stdout);
    const [, value, source] = /^\S+ = (\S+)\s+# (.*)$/.exec(line);
    return { value, source };
  }

  test('a flag wins over the environment, that over the file, that over the default', async () => {
    const file = await folder.file('tessera.toml', '# mine\nport = 1003\n');
    const env = { TESSERA_PORT: '1002' };

    const byFlag = await setting('port', ['--port', '1001', '--config', file], env);
    const byEnvironment = await setting('port', ['--config', file], env);
    const byFile = await setting('port', ['--config', file]);
    const byDefault = await setting('port', []);

    assert.equal(byFlag.value, '1001');
    assert.match(byFlag.source, /--port/);
    assert.equal(byEnvironment.value, '1002');
    assert.match(byEnvironment.source, /TESSERA_PORT/);
    assert.equal(byFile.value, '1003');
    assert.match(byFile.source, /tessera\.toml:2/);
    assert.equal(byDefault.value, '8080');
    assert.match(byDefault.source, /default/);
  });

  test('the file may be named by the environment, and limits are its table', async () => {
    const file = await folder.file('limits.toml', '[limits]\nrequests_max = 7\n');
    const { stdout } = await run(['serve', '--print-config'], { env: { TESSERA_CONFIG: file } });

    assert.match(stdout, /^\[limits\]$/m);
    assert.match(stdout, /^requests_max = 7\s+# .*limits\.toml:2/m);
  });

  test('what --print-config prints is a file that gives the same settings', async () => {
    const first = await run(['serve', '--print-config', '--port', '1234', '--log-level', 'debug']);
    const file = await folder.file('printed.toml', first.stdout);
    const second = await run(['serve', '--print-config', '--config', file]);

    const values = (text) => text.replace(/\s*#.*$/gm, '').replace(/\n+/g, '\n');
    assert.equal(second.code, OK, second.stderr);
    assert.equal(values(second.stdout), values(first.stdout));
  });

  test('a wrong setting leaves with 2 and names its place', async () => {
    const file = await folder.file('wrong.toml', 'port = 80\nprot = 81\n');

    const inFile = await run(['serve', '--print-config', '--config', file]);
    const inEnvironment = await run(['serve', '--print-config'], { env: { TESSERA_PORT: 'many' } });
    const inFlag = await run(['serve', '--print-config', '--port', '99999']);

    assert.deepEqual([inFile.code, inEnvironment.code, inFlag.code], [USAGE, USAGE, USAGE]);
    assert.match(inFile.stderr, /wrong\.toml:2.*prot/);
    assert.match(inEnvironment.stderr, /TESSERA_PORT/);
    assert.match(inFlag.stderr, /99999.*65535.*--port/);
  });

  test('a server that cannot start says why', async () => {
    const noModel = await run(['serve', '--model', path.join(folder.folder, 'nowhere.gguf')]);
    const notAModel = await run(['serve', '--model', await folder.file('text.gguf', 'no model')]);

    for (const { code, stdout, stderr } of [noModel, notAModel]) {
      assert.equal(code, USAGE, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, /^tessera: .+/m);
    }
  });
});
