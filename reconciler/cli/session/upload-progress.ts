// Shows how much of a large upload is sent: a bar on a terminal, a line for each tenth elsewhere, nothing with --json.
import { formatBytes } from '../../../server/api/text/byte-size.ts';
import type { OnSent } from '../../../server/client/files/counted.ts';
import { canRepaint } from '../output/process-io.ts';
import type { Output } from './context.ts';

/** Smaller uploads end before anyone could read their progress. */
const leastBytes = 8 * 1024 * 1024;
const repaintMs = 100;
const barWidth = 30;
const eraseLine = '\r\u001b[K';

/** `what`: the file, as it was named. */
export function uploadProgress(output: Output, what: string): OnSent {
  if (output.isJson) return () => {};
  const { io } = output;
  const show = canRepaint(io.env, io.stderr) ? bar(output, what) : tenths(output, what);
  return (sent, total) => {
    if (total >= leastBytes) show(sent, total);
  };
}

function bar({ io }: Output, what: string): OnSent {
  let paintedMs = 0;
  return (sent, total) => {
    const isSent = sent >= total;
    if (!isSent && io.nowMs() - paintedMs < repaintMs) return;
    paintedMs = io.nowMs();
    io.raw.stderr.write(eraseLine);
    // The progress of the server continues on this line.
    if (!isSent) io.stderr.write(`${what} [${barText(sent / total)}] ${amounts(sent, total)}`);
  };
}

const barText = (share: number): string => '='.repeat(Math.floor(share * barWidth)).padEnd(barWidth);

function tenths({ note }: Output, what: string): OnSent {
  let shownTenth = 0;
  return (sent, total) => {
    const tenth = Math.floor((sent / total) * 10);
    if (tenth <= shownTenth) return;
    shownTenth = tenth;
    note(`${what}: ${amounts(sent, total)} sent`);
  };
}

const amounts = (sent: number, total: number): string =>
  `${Math.floor((sent / total) * 100)}% (${formatBytes(sent)} of ${formatBytes(total)})`;
