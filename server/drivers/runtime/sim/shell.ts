// The small shell of simulated containers: command lists, quotes, variables, and reading lines. Writes no files.
import { posix } from 'node:path';
import { hasCommand, runSimCommand, type SimProcessView } from './commands.ts';

interface Step {
  /** Runs if the previous step ended so. */
  readonly when: 'always' | 'success' | 'failure';
  readonly words: readonly string[];
  /** Absent: standard output. */
  readonly out?: 'errors' | 'nowhere';
}

interface ShellState {
  cwd: string;
  readonly env: Record<string, string>;
  last: number;
  exited: boolean;
}

export interface ShellProcess extends SimProcessView {
  readonly raise: (signal: number) => void;
}

export async function runProgram(argv: readonly string[], process: ShellProcess): Promise<number> {
  const name = posix.basename(argv[0] ?? '').replace(/^-/, '');
  if (!['sh', 'ash', 'bash'].includes(name)) return runSimCommand(argv, process);
  const state: ShellState = { cwd: process.cwd, env: { ...process.env }, last: 0, exited: false };
  const at = argv.indexOf('-c');
  if (at >= 0) await runScript(argv[at + 1] ?? '', argv.slice(at + 2), state, process);
  else await runLines(state, process);
  return state.last;
}

async function runLines(state: ShellState, process: ShellProcess): Promise<void> {
  const isTerminal = process.terminal() !== undefined;
  const prompt = async (): Promise<void> => void (isTerminal && (await process.out(`${state.cwd} # `)));
  let rest = '';
  await prompt();
  while (!state.exited) {
    const chunk = await process.read();
    if (chunk === undefined) break;
    const lines = (rest + chunk.toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      await runScript(line, [], state, process);
      if (state.exited) return;
      await prompt();
    }
  }
  if (!state.exited) await runScript(rest, [], state, process);
}

async function runScript(
  text: string,
  parameters: readonly string[],
  state: ShellState,
  process: ShellProcess,
): Promise<void> {
  for (const step of parseScript(text)) {
    if (state.exited) return;
    if (step.when === 'success' && state.last !== 0) continue;
    if (step.when === 'failure' && state.last === 0) continue;
    const words = step.words.map((word) => expandWord(word, parameters, state));
    const view = { ...process, cwd: state.cwd, env: state.env };
    const outs = {
      errors: (chunk: string | Buffer) => process.err(chunk.toString()),
      nowhere: () => Promise.resolve(),
    };
    const out = step.out === undefined ? process.out : outs[step.out];
    state.last = await runStep(words, state, { ...view, out });
  }
}

async function runStep(words: readonly string[], state: ShellState, process: ShellProcess): Promise<number> {
  const [name = '', ...args] = words;
  const assigned = /^([A-Za-z_]\w*)=(.*)$/.exec(name);
  if (name === '') return state.last;
  if (assigned !== null && args.length === 0) {
    state.env[assigned[1] ?? ''] = assigned[2] ?? '';
    return 0;
  }
  if (name === 'exit') {
    state.exited = true;
    return Number(args[0] ?? state.last) & 255;
  }
  if (name === 'exec') {
    const code = await runStep(args, state, process);
    state.exited = true;
    return code;
  }
  if (name === 'command' && args[0] === '-v') {
    if (!hasCommand(args[1] ?? '')) return 1;
    await process.out(`${args[1]}\n`);
    return 0;
  }
  if (name === 'cd') {
    state.cwd = posix.resolve(state.cwd, args[0] ?? state.env['HOME'] ?? '/');
    return 0;
  }
  if (name === 'kill') {
    process.raise(Number((args[0] ?? '-15').slice(1)) || 15);
    return 0;
  }
  return runProgram(words, process);
}

/** Words still contain their quotes. A redirection of errors is read and not followed. */
export function parseScript(text: string): readonly Step[] {
  const tokens =
    text.match(
      /'[^']*'|"(?:[^"\\]|\\.)*"|\\.|&&|\|\||2>\/dev\/null|2>&1|>\/dev\/null|>&2|[;\n]|[ \t]+|[^\s'"\\;&|>]+|./gs,
    ) ?? [];
  const steps: Step[] = [];
  let words: string[] = [];
  let word: string | undefined;
  let when: Step['when'] = 'always';
  let out: Step['out'];
  const endWord = (): void => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  const endStep = (next: Step['when']): void => {
    endWord();
    if (words.length > 0) steps.push({ when, words, ...(out !== undefined && { out }) });
    words = [];
    out = undefined;
    when = next;
  };
  for (const token of tokens) {
    if (token === ';' || token === '\n') endStep('always');
    else if (token === '&&') endStep('success');
    else if (token === '||') endStep('failure');
    else if (token === '>&2') out = 'errors';
    else if (token === '>/dev/null') out = 'nowhere';
    else if (token.startsWith('2>')) continue;
    else if (/^[ \t\r]+$/.test(token)) endWord();
    else word = (word ?? '') + token;
  }
  endStep('always');
  return steps;
}

function expandWord(word: string, parameters: readonly string[], state: ShellState): string {
  const parts = word.match(/'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^'"\\]+|./gs) ?? [];
  return parts
    .map((part) => {
      if (part.startsWith("'") && part.length > 1) return part.slice(1, -1);
      if (part.startsWith('\\')) return part.slice(1);
      const text = part.startsWith('"') && part.length > 1 ? part.slice(1, -1).replace(/\\(["\\$])/g, '$1') : part;
      return text.replace(
        /\$(?:(\?|\$|[0-9]|[A-Za-z_]\w*)|\{(\w+)(?::-([^}]*))?\})/g,
        (_all, plain: string | undefined, name = plain ?? '', otherwise = '') =>
          variable(name, parameters, state) || otherwise,
      );
    })
    .join('');
}

function variable(name: string, parameters: readonly string[], state: ShellState): string {
  if (name === '?') return state.last.toString();
  if (name === '$') return '1';
  if (/^[0-9]$/.test(name)) return parameters[Number(name)] ?? '';
  return state.env[name] ?? '';
}
