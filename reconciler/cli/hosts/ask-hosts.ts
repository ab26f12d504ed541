// Runs the work of a verb on its one host, or with --hosts on several at once, and collects the answers.
import type { Host } from '../../manifest/hosts-file.ts';
import type { Loaded } from '../../manifest/load-contract.ts';
import type { ExitCode } from '../errors/exit-codes.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import { paintFor } from '../output/paint.ts';
import { firstLine, renderTable } from '../output/table.ts';
import type { Command, Context, Fleet, Output } from '../session/context.ts';
import { loadSet, type LoadOptions } from '../session/load-set.ts';
import { eachHost, outcomeWord, worstCode, type HostFailure } from './each-host.ts';
import { hostContext, scopeOf, type HostContext } from './host-context.ts';
import { loadHosts, showDiagnostics } from './load-hosts.ts';

/** Without --hosts there is one answer without a host name, and a failure is thrown. */
export type Answer<T> =
  | { readonly host?: Host; readonly value: T; readonly failure?: undefined }
  | { readonly host: Host; readonly failure: HostFailure };

export interface AskedHost<O extends object = object> {
  readonly host: Host;
  readonly context: HostContext<O>;
}

/** For verbs that read no manifests. */
export function hostsToAsk<O extends HostOptions>(
  context: Context<O>,
  { chosen, all }: Fleet,
): readonly AskedHost<O>[] {
  const scope = scopeOf(all, undefined);
  const width = Math.max(...chosen.map(({ name }) => name.length));
  return chosen.map((host) => ({ host, context: hostContext(context, host, scope, width) }));
}

/** Asks and reports nothing. */
export async function answersOf<O extends HostOptions, T>(
  context: Context<O>,
  fleet: Fleet | undefined,
  work: (own: Context<O>, host: Host | undefined) => Promise<T>,
): Promise<readonly Answer<T>[]> {
  if (fleet === undefined) return [{ value: await work(context, undefined) }];
  return eachHost(hostsToAsk(context, fleet), (one) => work(one.context, one.host), context.stop);
}

/** Notes hosts that failed. */
export async function askHosts<O extends HostOptions, T>(
  context: Context<O>,
  fleet: Fleet | undefined,
  work: (own: Context<O>, host: Host | undefined) => Promise<T>,
): Promise<readonly Answer<T>[]> {
  if (fleet === undefined) return answersOf(context, fleet, work);
  return askEach(context, hostsToAsk(context, fleet), (one) => work(one.context, one.host));
}

/** Reads the manifests of every host first; hosts without a selected document are left out. */
export async function askLoaded<O extends LoadOptions, T>(
  context: Context<O>,
  fleet: Fleet | undefined,
  args: readonly string[],
  work: (own: Context<O>, loaded: Loaded, host: Host | undefined) => Promise<T>,
): Promise<readonly Answer<T>[]> {
  if (fleet === undefined) return [{ value: await work(context, await loadSet(context, args), undefined) }];
  const selected = (await loadHosts(context, fleet, args)).filter(({ isUnselected }) => !isUnselected);
  return askEach(context, selected, (one) => work(one.context, one.loaded, one.host));
}

async function askEach<One extends AskedHost, T>(
  context: Command,
  hosts: readonly One[],
  work: (one: One) => Promise<T>,
): Promise<readonly Answer<T>[]> {
  const outcomes = await eachHost(hosts, work, context.stop);
  const diagnostics = hosts.map(({ host, context: own }) => ({ host, diagnostics: own.collected }));
  await showDiagnostics(context, diagnostics, hosts.length);
  for (const { host, failure } of outcomes)
    if (failure !== undefined) context.note(`${host.name}: ${outcomeWord(failure.code)}: ${failure.message}`);
  return outcomes;
}

export const codesOf = (answers: readonly Answer<{ readonly code: ExitCode }>[]): readonly ExitCode[] =>
  answers.map((one) => (one.failure === undefined ? one.value.code : one.failure.code));

export const worstCodeOf = (answers: readonly Answer<{ readonly code: ExitCode }>[]): ExitCode =>
  worstCode(codesOf(answers));

/** The exit code of the hosts that failed. */
export const failureCode = (answers: readonly Answer<unknown>[]): ExitCode =>
  worstCode(answers.flatMap(({ failure }) => failure?.code ?? []));

export const errorOf = ({ failure }: Pick<Answer<unknown>, 'failure'>): object =>
  failure === undefined ? {} : { error: { exit_code: failure.code, message: failure.message } };

/** JSON rows: the results of each host (named if there are several), then the hosts that failed. */
export const jsonRows = <T>(
  answers: readonly Answer<T>[],
  rowsOf: (value: T) => readonly object[],
): readonly object[] => [
  ...answers.flatMap((one) =>
    one.failure === undefined
      ? rowsOf(one.value).map((row) => (one.host === undefined ? row : { host: one.host.name, ...row }))
      : [],
  ),
  ...answers.flatMap((one) => (one.failure === undefined ? [] : [{ host: one.host.name, ...errorOf(one) }])),
];

export interface HostTable<T> {
  readonly head: readonly string[];
  readonly rows: (value: T) => readonly (readonly string[])[];
  /** The cells of a host that failed; without it such a host has no row. */
  readonly failed?: (word: string, message: string) => readonly string[];
}

/** One table; several hosts add a column with the host name. */
export function renderHosts<T>(
  context: Output,
  fleet: Fleet | undefined,
  answers: readonly Answer<T>[],
  { head, rows, failed }: HostTable<T>,
): string {
  const texts = answers.flatMap((one) => {
    if (one.failure === undefined) return rows(one.value).map((row) => [...(one.host ? [one.host.name] : []), ...row]);
    const { code, message } = one.failure;
    return failed === undefined ? [] : [[one.host.name, ...failed(outcomeWord(code), firstLine(message))]];
  });
  return renderTable([...(fleet === undefined ? [] : ['HOST']), ...head], texts, paintFor(context.color));
}
