// Pictures made here, sound ones and broken ones. No picture of ours is a file.
import zlib from 'node:zlib';

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

const CRC_TABLE = Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; ++bit) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = CRC_TABLE[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

function pngChunk(type, data = Buffer.alloc(0)) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, crc]);
}

function pngHeader(width, height) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8; // bits a sample
  header[9] = 2; // RGB
  return pngChunk('IHDR', header);
}

const WHITE = [255, 255, 255];

/** @param colorAt  (x, y) → [red, green, blue]; white without it */
export function png(width, height, colorAt) {
  const rowBytes = 1 + 3 * width; // a filter byte, then pixels
  const raw = Buffer.alloc(height * rowBytes, 0xff);
  for (let y = 0; y < height; ++y) {
    raw[y * rowBytes] = 0;
    if (colorAt === undefined) continue;
    for (let x = 0; x < width; ++x) raw.set(colorAt(x, y), y * rowBytes + 1 + 3 * x);
  }
  return Buffer.concat([
    PNG_SIGNATURE,
    pngHeader(width, height),
    pngChunk('IDAT', zlib.deflateSync(raw)),
    pngChunk('IEND'),
  ]);
}

/** Says a size and holds almost nothing: a decompression bomb's head. */
export function pngHeaderOnly(width, height) {
  return Buffer.concat([
    PNG_SIGNATURE,
    pngHeader(width, height),
    pngChunk('IDAT', zlib.deflateSync(Buffer.alloc(64))),
    pngChunk('IEND'),
  ]);
}

/** Red and white bands, 4:40 wide: the bundled model lists them without end. */
export function bands() {
  return png(112, 1120, (x, y) => (y % 40 < 20 ? [255, 0, 0] : WHITE));
}

/** A baseline JPEG of one grey component, all of it middle grey. */
export function greyJpeg(width, height) {
  const segment = (marker, data) => {
    const head = Buffer.from([0xff, marker, 0, 0]);
    head.writeUInt16BE(data.length + 2, 2);
    return Buffer.concat([head, data]);
  };
  const frame = Buffer.from([8, 0, 0, 0, 0, 1, 1, 0x11, 0]);
  frame.writeUInt16BE(height, 1);
  frame.writeUInt16BE(width, 3);
  const quantization = Buffer.concat([Buffer.from([0]), Buffer.alloc(64, 1)]);
  const oneCode = Buffer.from([1, ...new Array(15).fill(0), 0]); // the code "0" stands for 0
  const nBlocks = Math.ceil(width / 8) * Math.ceil(height / 8);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1')),
    segment(0xdb, quantization),
    segment(0xc0, frame),
    segment(0xc4, Buffer.concat([Buffer.from([0x00]), oneCode])),
    segment(0xc4, Buffer.concat([Buffer.from([0x10]), oneCode])),
    segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
    // A block is "no difference" and "end of block": two bits of 0.
    Buffer.alloc(Math.ceil(nBlocks / 4)),
    Buffer.from([0xff, 0xd9]),
  ]);
}

/** One pixel each. */
export const TINY_GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
/** @return  a GIF that shows the one of TINY_GIF n times */
export function movingGif(n) {
  const frame = TINY_GIF.subarray(19, -1); // after the palette, before the trailer
  return Buffer.concat([TINY_GIF.subarray(0, 19), ...Array(n).fill(frame), TINY_GIF.subarray(-1)]);
}
export const TINY_WEBP = Buffer.from(
  'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA',
  'base64',
);

/** @return  a data URI */
export function dataUri(bytes, type = 'image/png') {
  return `data:${type};base64,${bytes.toString('base64')}`;
}
