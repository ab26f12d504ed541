// The frame of gantryd's verbs that work beside its daemon: help, usage errors, exit codes; and their requests to the daemon.
import { request } from 'node:http';
import { errorText } from '../lib/shared/reason.ts';

const exitCodes = { ok: 0, failed: 1, usage: 64 } as const;

export interface HostTask {
  /** Resolves with the text to print, and whether all went well. */
  readonly run: () => Promise<{ readonly text?: string; readonly isGood?: boolean }>;
  /** The verb of a command with several. */
  readonly verb?: string;
}

/** `read` returns the task that the words describe, or what is wrong with them; it may throw that. */
export async function runHostCommand(
  { name, usage, argv }: { readonly name: string; readonly usage: string; readonly argv: readonly string[] },
  read: (args: string[]) => HostTask | string,
): Promise<number> {
  if (argv.includes('--help')) {
    process.stdout.write(usage);
    return exitCodes.ok;
  }
  let task: HostTask | string;
  try {
    task = read([...argv]);
  } catch (error) {
    task = errorText(error);
  }
  if (typeof task === 'string') {
    process.stderr.write(`gantryd ${name}: ${task}\n\n${usage}`);
    return exitCodes.usage;
  }
  try {
    const { text, isGood = true } = await task.run();
    if (text !== undefined) process.stdout.write(`${text}\n`);
    return isGood ? exitCodes.ok : exitCodes.failed;
  } catch (error) {
    process.stderr.write(`gantryd ${[name, task.verb ?? []].flat().join(' ')}: ${errorText(error)}\n`);
    return exitCodes.failed;
  }
}

export interface DaemonQuestion {
  readonly socketPath: string;
  readonly method?: string;
  readonly path: string;
  readonly body?: object;
  /** Absent: waits as long as the daemon works on it. */
  readonly timeoutMs?: number;
}

/** Throws if no daemon answers on the socket, and the daemon's refusal. */
export function askDaemon<T>({
  socketPath,
  method = 'GET',
  path,
  body,
  timeoutMs,
}: DaemonQuestion): Promise<Partial<T>> {
  return new Promise((done, fail) => {
    const refuse = (cause: unknown): void =>
      fail(new Error(`No daemon answers on ${socketPath}: start gantryd first`, { cause }));
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const limit = timeoutMs === undefined ? {} : { timeout: timeoutMs };
    const asked = request({ socketPath, method, path, agent: false, headers, ...limit }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', refuse).on('end', () => {
        try {
          const { metadata } = JSON.parse(text) as { readonly metadata: Partial<T> & { readonly message?: string } };
          if ((response.statusCode ?? 500) < 300) done(metadata);
          else fail(new Error(metadata.message ?? `the daemon answered ${response.statusCode}`));
        } catch (error) {
          refuse(error);
        }
      });
    });
    asked.on('timeout', () => asked.destroy(new Error('it does not answer')));
    asked.on('error', refuse).end(body === undefined ? undefined : JSON.stringify(body));
  });
}
