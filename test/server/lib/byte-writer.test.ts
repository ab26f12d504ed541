// The growing buffer keeps every byte, also the one for which it grows.
import { expect, test } from 'vitest';
import { ByteWriter } from '../../../server/lib/shared/byte-writer.ts';

const written = (write: (writer: ByteWriter) => void): Buffer => {
  const writer = new ByteWriter();
  write(writer);
  return writer.take();
};

test('A buffer that grows keeps single bytes and whole pieces', () => {
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 251));
  const oneByOne = written((writer) => {
    for (const each of bytes) writer.byte(each);
  });
  expect(oneByOne.equals(bytes)).toBe(true);
  expect(written((writer) => writer.copy(bytes)).equals(bytes)).toBe(true);
});
