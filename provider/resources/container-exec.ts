// The commands of a container: which of them run after a change, and what they left. Shared with gantry_container_exec.
import type { Link } from '../connection/link.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { parseDuration } from '../framework/duration.ts';
import type { Path } from '../framework/path.ts';
import type { Context } from '../framework/provider.ts';
import { equalValues, type Value } from '../framework/value.ts';
import type { ExecSpec } from './container-attributes.ts';
import { runCommand } from './run-command.ts';

type Execs = Readonly<Record<string, ExecSpec>>;

/** Without what a run leaves. */
const asked = ({ exit_code: _code, stdout: _out, stderr: _err, ...rest }: ExecSpec): Value => rest;

/** Names of the commands to run, sorted. `prior` null: the container is new. */
export function dueCommands(
  wanted: Execs | null,
  prior: Execs | null | undefined,
  hasStarted: boolean,
): readonly string[] {
  return Object.keys(wanted ?? {})
    .toSorted()
    .filter((name) => {
      const spec = wanted?.[name];
      const before = prior?.[name];
      if (spec === undefined) return false;
      if (before === undefined || (spec.on === 'start' && hasStarted)) return true;
      return spec.on !== 'create' && !equalValues(asked(spec), asked(before));
    });
}

/** Runs them one after another; returns all with their results, those that did not run with the results they had. */
export async function runDue(
  context: Context<Link>,
  container: string,
  wanted: Execs | null,
  prior: Execs | null | undefined,
  due: readonly string[],
): Promise<Execs | null> {
  if (wanted === null) return null;
  const results: Record<string, ExecSpec> = {};
  for (const [name, spec] of Object.entries(wanted)) {
    const before = prior?.[name];
    results[name] = {
      ...spec,
      exit_code: before?.exit_code ?? null,
      stdout: before?.stdout ?? null,
      stderr: before?.stderr ?? null,
    };
  }
  for (const name of due) {
    const spec = wanted[name];
    if (spec !== undefined) {
      const path = [{ attribute: 'exec' }, { key: name }];
      results[name] = { ...spec, ...(await runOne(context, container, spec, path)) };
    }
  }
  return results;
}

type Run = Pick<ExecSpec, 'command' | 'environment' | 'cwd' | 'user' | 'group' | 'timeout' | 'fail_on_error'>;
type Ran = Pick<ExecSpec, 'exit_code' | 'stdout' | 'stderr'>;

/** Throws DiagnosticError when it fails and must not. */
export async function runOne(context: Context<Link>, container: string, spec: Run, path: Path): Promise<Ran> {
  const limit = AbortSignal.timeout(parseDuration(spec.timeout ?? '5m') ?? 300_000);
  const signal = AbortSignal.any([context.signal, context.stopping, limit]);
  // Its arguments may hold what Terraform was told to keep to itself.
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
    const output = [ran.stdout, ran.stderr].map((text) => text.trim().slice(-2000)).filter((text) => text !== '');
    const detail = [`It exited with ${ran.exitCode}: ${shown}`, ...output].join('\n\n');
    throw new DiagnosticError([failure(`A command in ${container} failed`, detail, path)]);
  }
  return { exit_code: ran.exitCode, stdout: ran.stdout, stderr: ran.stderr };
}
