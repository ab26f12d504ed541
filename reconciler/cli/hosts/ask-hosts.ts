// Runs the command for one host on several hosts at once and collects the answers; unreachable hosts are listed.
import { Writable } from 'node:stream';
import type { Host } from '../../manifest/hosts-file.ts';
import type { OpenContext } from '../session/context.ts';
import type { ExitCode } from '../errors/exit-codes.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import type { Fleet } from './choose-hosts.ts';
import { eachHost, worstCode, outcomeWord, type HostOutcome } from './each-host.ts';
import { hostContext, scopeOf, type HostContext } from './host-context.ts';
import { showDiagnostics } from '../hosts/load-hosts.ts';

export interface Answer {
  readonly text: string;
  readonly code: ExitCode;
}

export type HostAnswer = HostOutcome<Answer>;

export interface AskedHost<O extends object = object> {
  readonly host: Host;
  readonly context: HostContext<O>;
}

/** For verbs that read no manifests. */
export function hostsToAsk<O extends HostOptions>(
  context: OpenContext<O>,
  { chosen, all }: Fleet,
): readonly AskedHost<O>[] {
  const scope = scopeOf(all, undefined);
  const width = Math.max(...chosen.map(({ name }) => name.length));
  return chosen.map((host) => ({ host, context: hostContext(context, host, scope, width) }));
}

/** `form`: the output format of the command on each host. */
export async function askHosts<O extends object, T extends AskedHost<O>>(
  context: OpenContext,
  hosts: readonly (T & AskedHost<O>)[],
  work: (context: OpenContext<O>, host: T) => Promise<ExitCode>,
  form: { readonly isJson: boolean; readonly output?: string },
): Promise<readonly HostAnswer[]> {
  const byHost = new Map(hosts.map((one) => [one.host, one]));
  const outcomes = await eachHost(
    hosts.map(({ host }) => host),
    async (host): Promise<Answer> => {
      const one = byHost.get(host);
      if (one === undefined) throw new Error(`the host ${host.name} was not loaded`);
      const own = one.context;
      const chunks: string[] = [];
      const answers: OpenContext<O> = {
        ...own,
        isJson: form.isJson,
        options: { ...own.options, output: form.output },
        io: { ...own.io, stdout: collector(chunks) },
        out: (text) => void chunks.push(`${text}\n`),
      };
      const code = await work(answers, one);
      return { text: chunks.join(''), code };
    },
    context.stop,
  );
  const diagnostics = hosts.map(({ host, context: own }) => ({ host, diagnostics: own.collected }));
  await showDiagnostics(context, diagnostics, hosts.length);
  for (const { host, failure } of outcomes)
    if (failure !== undefined) context.note(`${host.name}: ${outcomeWord(failure.code)}: ${failure.message}`);
  return outcomes;
}

const collector = (chunks: string[]): Writable =>
  new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      chunks.push(chunk.toString());
      done();
    },
  });

export const codesOf = (answers: readonly HostAnswer[]): readonly ExitCode[] =>
  answers.map((one) => (one.failure === undefined ? one.value.code : one.failure.code));

export const worstCodeOf = (answers: readonly HostAnswer[]): ExitCode => worstCode(codesOf(answers));

export const errorOf = ({ failure }: Pick<HostAnswer, 'failure'>): object =>
  failure === undefined ? {} : { error: { exit_code: failure.code, message: failure.message } };

/** One object, or a list of them. */
export function rowsOf<T>(one: HostAnswer): readonly T[] {
  if (one.failure !== undefined) return [];
  const value = JSON.parse(one.value.text) as T | readonly T[];
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}
