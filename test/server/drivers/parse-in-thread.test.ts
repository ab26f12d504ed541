// Untrusted text that would make the parser slow or use much memory is refused before it is parsed.
import { expect, test } from 'vitest';
import { runParseJob } from '../../../server/drivers/parse-jobs.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

test('an index of lists in lists is refused by its depth, at once', () => {
  const bytes = bytesOf('['.repeat(30_000_000));
  const begin = performance.now();
  expect(runParseJob({ job: 'stream products', bytes })).toEqual({ error: 'it is nested deeper than 64 levels' });
  // Parsing it takes more than ten seconds and all the memory that the thread may have.
  expect(performance.now() - begin).toBeLessThan(2000);
});

test('an index that ends too early is refused as no JSON', () => {
  expect(runParseJob({ job: 'stream index', bytes: bytesOf('{"index":{') })).toEqual({
    error: expect.stringMatching(/^it is not JSON: /) as string,
  });
});
