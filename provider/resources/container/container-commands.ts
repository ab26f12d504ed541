// The commands of a container: selects those that run after a change, and keeps their results. Shared with gantry_container_exec.
import { longestTimerMs } from '../../../server/lib/shared/deadline.ts';
import type { Link } from '../../connection/link.ts';
import { DiagnosticError, failure, warning } from '../../framework/diagnostic.ts';
import { parseDuration } from '../../framework/duration.ts';
import type { Path } from '../../framework/path.ts';
import { endImport } from '../../framework/import-mark.ts';
import type { Context, PrivateData } from '../../framework/object-type.ts';
import { equalValues, type Value } from '../../framework/value.ts';
import type { ExecSpec } from './container-attributes.ts';
import { runCommand } from './run-command.ts';

type Execs = Readonly<Record<string, ExecSpec>>;

/** The part of a command that defines its run: no results, and no options on when to run or what to keep. */
function definitionOf(spec: ExecSpec): Value {
  const { exit_code: _code, stdout: _out, stderr: _err, record_output: _record, enabled: _enabled, ...run } = spec;
  return run;
}

/** Adds defaults for members that older states lack. */
export const readExecs = (execs: Execs | null): Execs | null =>
  execs === null
    ? null
    : Object.fromEntries(
        Object.entries(execs).map(([name, spec]) => [
          name,
          { ...spec, enabled: spec.enabled ?? true, record_output: spec.record_output ?? true },
        ]),
      );

export interface Commands {
  readonly wanted: Execs | null;
  /** Undefined when the container is new. */
  readonly prior: Execs | null | undefined;
  readonly hasStarted: boolean;
  /** Names of the commands that count as run because the container was imported. */
  readonly noted: readonly string[];
}

/** Names of the commands to run in a running container, sorted. A command that never ran, because the container did not run before, runs now. */
export function dueCommands({ wanted, prior, hasStarted, noted }: Commands): readonly string[] {
  return Object.keys(wanted ?? {})
    .toSorted()
    .filter((name) => {
      const spec = wanted?.[name];
      const before = prior?.[name];
      if (spec === undefined || spec.enabled === false) return false;
      if (spec.on === 'start' && hasStarted) return true;
      if (noted.includes(name) && (before === undefined || spec.on === 'create')) return false;
      if (before === undefined || (before.exit_code === null && !noted.includes(name))) return true;
      return spec.on !== 'create' && !equalValues(definitionOf(spec), definitionOf(before));
    });
}

const notedKey = 'noted_commands';
const owedKey = 'owed_commands';

const namesIn = (privateData: PrivateData, key: string): Set<string> =>
  new Set((privateData[key] ?? '').split('\n').filter((name) => name !== ''));
const notedNames = (privateData: PrivateData): Set<string> => namesIn(privateData, notedKey);

/** Notes the commands of a start that begins, until they ran: the update may fail, or the daemon die, between the two. */
export function noteStart(privateData: PrivateData, execs: Execs | null): void {
  const names = Object.entries(execs ?? {}).flatMap(([name, { on }]) => (on === 'start' ? [name] : []));
  privateData[owedKey] = names.join('\n');
}

export const forgetStart = (privateData: PrivateData): boolean => delete privateData[owedKey];

/** Commands of a start that did not run count as never run. */
export function withoutOwed(execs: Execs | null, privateData: PrivateData): Execs | null {
  const owed = namesIn(privateData, owedKey);
  if (execs === null || owed.size === 0) return execs;
  const none = { exit_code: null, stdout: null, stderr: null };
  return Object.fromEntries(
    Object.entries(execs).map(([name, spec]) => [name, owed.has(name) ? { ...spec, ...none } : spec]),
  );
}

/** Whether a command never ran, because the container did not, or because the run was interrupted before. */
export function areCommandsOwed(execs: Execs | null, privateData: PrivateData): boolean {
  const noted = notedNames(privateData);
  return Object.entries(execs ?? {}).some(
    ([name, spec]) => spec.enabled !== false && spec.exit_code === null && !noted.has(name),
  );
}

/** Names of the commands that count as run because the container was imported, including those of the first apply after the import. */
export function notedCommands({ privateData, warn }: Context<Link>, container: string, wanted: Execs | null) {
  const noted = notedNames(privateData);
  if (!endImport(privateData)) return [...noted];
  const names = Object.keys(wanted ?? {}).toSorted();
  if (names.length === 0) return [...noted];
  for (const name of names) noted.add(name);
  privateData[notedKey] = [...noted].join('\n');
  const detail = `It was imported, so they count as run: ${names.join(', ')}. One of them runs when it changes (on = change), at a start by Terraform (on = start), and when terraform apply -replace creates the container again.`;
  warn(warning(`The commands of ${container} were not run`, detail));
  return [...noted];
}

/**
 * Runs the commands one after another; returns all with their results. Commands that did not run keep their former results. When the user
 * wants to stop, the rest waits for the next apply: an error would have Terraform replace a new container.
 */
export async function runDueCommands(
  context: Context<Link>,
  container: string,
  wanted: Execs | null,
  prior: Execs | null | undefined,
  due: readonly string[],
): Promise<Execs | null> {
  if (wanted === null) return null;
  const results: Record<string, ExecSpec> = {};
  for (const [name, spec] of Object.entries(wanted)) {
    const before = due.includes(name) ? undefined : prior?.[name];
    results[name] = {
      ...spec,
      exit_code: before?.exit_code ?? null,
      stdout: spec.record_output === false ? null : (before?.stdout ?? null),
      stderr: spec.record_output === false ? null : (before?.stderr ?? null),
    };
  }
  for (const [index, name] of due.entries()) {
    const spec = wanted[name];
    if (spec === undefined) continue;
    try {
      results[name] = { ...spec, ...(await runOne(context, container, spec, [{ attribute: 'exec' }, { key: name }])) };
    } catch (error) {
      if (!context.stopping.aborted || context.signal.aborted) throw error;
      const detail = `The next apply runs ${due.slice(index).join(', ')}; ${name} may have begun.`;
      context.warn(warning(`The run was interrupted before all commands of ${container} ended`, detail));
      break;
    }
  }
  return results;
}

type Run = Pick<ExecSpec, 'command' | 'environment' | 'cwd' | 'user' | 'group' | 'timeout' | 'fail_on_error'> &
  Partial<Pick<ExecSpec, 'record_output'>>;

/** The time limit of an operation that only runs one command, whose own limit, `timeout`, holds. */
export const noOtherLimit = longestTimerMs;

/** Throws DiagnosticError when the command fails and `fail_on_error` is set. `showsOutput`: the error also has standard output. */
export async function runOne(
  context: Context<Link>,
  container: string,
  spec: Run,
  path: Path,
  { showsOutput }: { readonly showsOutput: boolean } = { showsOutput: true },
): Promise<Pick<ExecSpec, 'exit_code' | 'stdout' | 'stderr'>> {
  const limit = AbortSignal.timeout(Math.min(parseDuration(spec.timeout ?? '5m') ?? 300_000, longestTimerMs));
  const signal = AbortSignal.any([context.signal, context.stopping, limit]);
  // The arguments may hold sensitive values.
  const shown = spec.command[0] ?? '';
  let ran;
  try {
    ran = await runCommand(context, container, spec, signal);
  } catch (error) {
    if (!limit.aborted && !context.stopping.aborted) throw error;
    const why = limit.aborted ? `took longer than ${spec.timeout ?? '5m'}` : 'was interrupted';
    throw new DiagnosticError([failure(`A command in ${container} ${why}`, `It was killed: ${shown}`, path)], error);
  }
  if (ran.exitCode !== 0 && spec.fail_on_error !== false) {
    const output = [...(showsOutput ? [ran.stdout] : []), ran.stderr]
      .map((text) => text.trim().slice(-2000))
      .filter((text) => text !== '');
    const detail = [`It exited with ${ran.exitCode}: ${shown}`, ...output].join('\n\n');
    throw new DiagnosticError([failure(`A command in ${container} failed`, detail, path)]);
  }
  if (spec.record_output === false) return { exit_code: ran.exitCode, stdout: null, stderr: null };
  return { exit_code: ran.exitCode, stdout: ran.stdout, stderr: ran.stderr };
}
