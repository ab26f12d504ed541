// Pure parts of manual work on containers: rates of figures, logs as plain text, paths.
import { expect, test } from 'vitest';
import type { ContainerFigures } from '../../../reconciler/controller/contract/index.ts';
import {
  bytesText,
  cpuText,
  pauseAfterMs,
  ratesOf,
  withSample,
  type Samples,
} from '../../../reconciler/web/data/figures.ts';
import { plainLog } from '../../../reconciler/web/views/host/log-text.ts';
import { crumbsOf, joined, resolved } from '../../../reconciler/web/data/paths.ts';

const figures = (cpuNs: number, receivedBytes = 0): ContainerFigures => ({
  cpuNs,
  memoryBytes: 0,
  memoryPeakBytes: 0,
  receivedBytes,
  sentBytes: 0,
  processes: 1,
});
const at = (second: number): string => new Date(second * 1000).toISOString();

test('rates come from two samples, a restart counts as nothing, and only the last minutes are kept', () => {
  let samples: Samples = [];
  samples = withSample(samples, at(0), figures(0, 0));
  samples = withSample(samples, at(2), figures(1e9, 4096));
  samples = withSample(samples, at(2), figures(1e9, 4096));
  samples = withSample(samples, at(4), figures(5e8, 0));
  expect(ratesOf(samples)).toEqual([
    { cpu: 0.5, receivedPerS: 2048, sentPerS: 0 },
    { cpu: 0, receivedPerS: 0, sentPerS: 0 },
  ]);
  for (let second = 5; second < 1000; second++) samples = withSample(samples, at(second), figures(0));
  expect(samples.length).toBe(150);
});

test.each([
  [bytesText(0), '0 B'],
  [bytesText(1536), '1.5 KiB'],
  [bytesText(200 * 1024 * 1024), '200 MiB'],
  [cpuText(0.012), '1.2 %'],
  [cpuText(1.5), '150 %'],
])('%s is written as %s', (text, wanted) => expect(text).toBe(wanted));

test.each([
  [80, 2000],
  [400, 2000],
  [900, 4500],
])('a host that answers after %i ms is asked again after %i ms', (tookMs, pauseMs) =>
  expect(pauseAfterMs(tookMs)).toBe(pauseMs),
);

test('a log loses colours, titles and cursor movements, and shows the last text of an overwritten line', () => {
  expect(plainLog('\u001b[0;32m  OK  \u001b[0m\r\n10 %\r100 %\n\u001b]0;title\u0007a\u0000b\u001b[2Jc')).toBe(
    '  OK  \n100 %\nabc',
  );
});

test('paths have a crumb for each directory, and links lead where they point', () => {
  expect(crumbsOf('/srv/www/').map(({ path }) => path)).toEqual(['/', '/srv', '/srv/www']);
  expect(joined('/', 'etc')).toBe('/etc');
  expect(resolved('/var/run', '/run')).toBe('/run');
  expect(resolved('/var/lock', '../run/./lock')).toBe('/run/lock');
  expect(resolved('/a', '../../..')).toBe('/');
});
