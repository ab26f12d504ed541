import { expect, test } from 'vitest';
import { isLoopback } from '../../../server/lib/shared/net/loopback.ts';

test.each(['localhost', '::1', '127.0.0.1', '127.8.9.10'])('%s is this machine only', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['127.evil.org', '127.', '127.0.0.1.evil.org', 'localhost.evil.org', '10.0.0.1', '::', ''])(
  '%j may be another machine',
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
