// Shows long text through the user's pager, on a terminal only; everywhere else, and when there is no pager, it is printed.
import { spawn } from 'node:child_process';
import { terminalText } from '../../core/text/terminal-text.ts';
import type { OpenContext } from './context.ts';
import type { PlanFlagOptions } from '../flags/plan-flags.ts';
import { canRepaint, type CliIo } from '../output/process-io.ts';

/** As git starts it: leaves short text on the screen, passes colours on, does not clear the screen at its end. */
const usualPager = 'less';
const lessOptions = 'FRX';

type PagerOptions = Pick<PlanFlagOptions, 'pager' | 'input'>;

/** The command, or undefined when text of so many lines is to be printed as it is. */
export function pagerFor(
  { env, stdin, stdout }: Pick<CliIo, 'env' | 'stdin' | 'stdout'>,
  options: PagerOptions,
  lines: number,
): string | undefined {
  const isRefused = options.pager === false || options.input === false;
  if (isRefused || !canRepaint(env, stdout) || stdin.isTTY !== true) return undefined;
  if (lines < (stdout.rows ?? 0)) return undefined;
  const named = env['GANTRY_PAGER'] ?? env['PAGER'];
  return named === undefined ? usualPager : ['', 'cat'].includes(named.trim()) ? undefined : named;
}

/** For commands that ask nothing afterwards. `text` ends without a line break. */
export async function showPaged(context: OpenContext<PagerOptions>, text: string): Promise<void> {
  const { io, options } = context;
  const pager = context.isJson ? undefined : pagerFor(io, options, text.split('\n').length + 1);
  const isShown = pager !== undefined && (await page(context, pager, terminalText(text, io.paintMark)));
  if (!isShown) context.out(text);
}

/** False when the pager could not be started. Ctrl-C is the pager's as long as it runs. */
function page(context: OpenContext, pager: string, text: string): Promise<boolean> {
  const told = context.onInterrupt;
  context.onInterrupt = () => {};
  const env = { LESS: lessOptions, ...context.io.env };
  return new Promise<boolean>((resolve) => {
    const child = spawn('sh', ['-c', pager], { stdio: ['pipe', 'inherit', 'inherit'], env });
    child.once('error', () => resolve(false));
    // What the shell says of a program that is not there.
    child.once('close', (code) => resolve(code !== 126 && code !== 127));
    // It may end without reading all of it.
    child.stdin.on('error', () => {});
    child.stdin.end(`${text}\n`);
  }).finally(() => {
    context.onInterrupt = told;
  });
}
