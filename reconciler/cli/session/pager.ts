// Shows long text through the user's pager on a terminal; prints it everywhere else.
import { spawn } from 'node:child_process';
import { terminalText } from '../../core/text/terminal-text.ts';
import type { Command, Context } from './context.ts';
import type { PlanFlagOptions } from '../flags/plan-flags.ts';
import { canRepaint, type CliIo } from '../output/process-io.ts';

/** The options that git uses: quit if the text fits, pass colours on, do not clear the screen. */
const usualPager = 'less';
const lessOptions = 'FRX';

type PagerOptions = Pick<PlanFlagOptions, 'pager' | 'input'>;

/** The pager command, or undefined when a text with this many lines is printed directly. */
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

/** For commands that ask no question afterwards. `text` ends without a line break. */
export async function showPaged(context: Context<PagerOptions>, text: string): Promise<void> {
  const { io, options } = context;
  const pager = context.isJson ? undefined : pagerFor(io, options, text.split('\n').length + 1);
  const isShown = pager !== undefined && (await page(context, pager, terminalText(text, io.paintMark)));
  if (!isShown) context.out(text);
}

/** False when the pager could not be started. Ctrl-C goes to the pager while it runs. */
function page(context: Command, pager: string, text: string): Promise<boolean> {
  const announceAgain = context.takeAnnouncements();
  const env = { LESS: lessOptions, ...context.io.env };
  return new Promise<boolean>((resolve) => {
    const child = spawn('sh', ['-c', pager], { stdio: ['pipe', 'inherit', 'inherit'], env });
    child.once('error', () => resolve(false));
    // Exit codes of the shell for a missing program.
    child.once('close', (code) => resolve(code !== 126 && code !== 127));
    // The pager may end before reading everything.
    child.stdin.on('error', () => {});
    child.stdin.end(`${text}\n`);
  }).finally(announceAgain);
}
