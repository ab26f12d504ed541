// Runs a command of a document inside its container, reports its output, and records the run on the container.
import type { Container, ContainerPut } from '../../../server/api/container/container.ts';
import { isPreconditionFailed } from '../../../server/client/client-error.ts';
import { discard, readIfThere } from '../../../server/client/files/file-helpers.ts';
import { filesOf } from '../../../server/client/files/container-files.ts';
import { joinMark, startedAt } from '../../core/decide/decide-inside.ts';
import { pathText } from '../../core/documents/inside.ts';
import { putBody } from '../../core/plan/apply-edits.ts';
import { recordKey, recordsIn, renderRecord, type KeyHash } from '../../core/ownership/owner-records.ts';
import type { ExecStep } from '../../core/plan/plan.ts';
import { sendAndWait, type Note, type StepContext } from './context.ts';
import { lastLines, Tail } from '../../../server/client/wait/last-lines.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** Limits of the output: bytes for the journal, lines for the message of a failure. */
const keptBytes = 64 * 1024;
const linesShown = 10;

/** The command ended with an unexpected exit code. */
export class ExecError extends Error {
  override readonly name = 'ExecError';
}

export async function runExec(context: StepContext, step: ExecStep, signal: AbortSignal): Promise<Note> {
  const { spec } = step;
  const what = pathText(['exec', step.exec]);
  const skipped = await reasonToSkip(context, step, signal);
  if (skipped !== undefined) {
    await record(context, step, signal);
    return `${what}: ${skipped}`;
  }
  context.onProgress(what);
  const { code, output } = await run(context, step, spec.command, signal);
  const codes = spec.exit_codes ?? [0];
  if (codes.length > 0 && !codes.includes(code)) {
    const lines = lastLines(output, linesShown).map((line) => `\n  ${line}`);
    const wanted = codes.length === 1 && codes[0] === 0 ? '' : `, not with ${codes.join(' or ')}`;
    throw new ExecError(`${what} ended with code ${code}${wanted}${said(lines)}`);
  }
  if (spec.creates !== undefined && !(await exists(context, step.name, spec.creates, signal))) {
    throw new ExecError(`${what} ended with code ${code} and did not create ${spec.creates}`);
  }
  await record(context, step, signal);
  return `${what} ended with code ${code}`;
}

const said = (lines: readonly string[]): string =>
  lines.length === 0 ? '; it printed nothing' : `; its last output:${lines.join('')}`;

async function reasonToSkip(context: StepContext, step: ExecStep, signal: AbortSignal): Promise<string | undefined> {
  const { creates, unless } = step.spec;
  if (creates !== undefined && (await exists(context, step.name, creates, signal)))
    return `not needed because ${creates} exists`;
  if (unless === undefined) return undefined;
  const { code } = await run(context, step, unless, signal);
  return code === 0 ? 'not needed because the command of unless succeeded' : undefined;
}

async function run(
  context: StepContext,
  step: ExecStep,
  command: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly code: number; readonly output: string }> {
  const { environment, cwd, user, group } = step.spec;
  const tail = new Tail(keptBytes);
  const options = {
    command,
    ...withoutUndefined({ environment, cwd, user, group }),
    stdout: tail,
    stderr: tail,
  };
  const session = await context.client.exec(step.name, options, signal);
  const code = await session.exited;
  const output = withoutSecrets(tail.text(), step.hidden);
  context.onOutput?.({ exec: step.exec, code, output });
  return { code, output };
}

/** Hides secrets, because commands may print their environment. Single letters are too common to hide. */
function withoutSecrets(text: string, hidden: readonly string[]): string {
  const words = hidden.filter((word) => word.length > 2).sort((a, b) => b.length - a.length);
  return words.reduce((left, word) => left.replaceAll(word, '(secret)'), text);
}

async function exists(context: StepContext, name: string, path: string, signal: AbortSignal): Promise<boolean> {
  const found = await readIfThere(filesOf(context.client.http, name), path, signal);
  if (found !== undefined) discard(found);
  return found !== undefined;
}

/** True if the record says that this command ran, with these triggers and since this start. What `creates` is looked for anyway. */
export async function hasRun({ client, hash }: StepContext, step: ExecStep, signal: AbortSignal): Promise<boolean> {
  const { mark, name, exec, spec } = step;
  if (mark === undefined || hash === undefined || spec.creates !== undefined) return false;
  const { metadata: live } = await client.get('container', name, signal);
  return recordsIn(live).get(mark.set)?.ran?.[exec] === markText(mark, hash, live);
}

const markText = (mark: NonNullable<ExecStep['mark']>, hash: KeyHash, live: Container): string =>
  joinMark(hash, mark.command, mark.triggers, mark.isPerStart ? startedAt(live) : '');

const attempts = 5;

/** Writes to the set's record on the container, for the next run. */
async function record(context: StepContext, step: ExecStep, signal: AbortSignal): Promise<void> {
  const { mark, name } = step;
  const { hash, client } = context;
  if (mark === undefined || hash === undefined) return;
  for (let attempt = 1; ; attempt += 1) {
    const { metadata: live, etag } = await client.get('container', name, signal);
    const own = recordsIn(live).get(mark.set);
    const text = markText(mark, hash, live);
    if (own === undefined || own.ran?.[step.exec] === text) return;
    const next = renderRecord({ ...own, ran: { ...own.ran, [step.exec]: text } });
    const body = putBody('container', { ...live, config: { ...live.config, [recordKey(mark.set)]: next } }, []);
    const write = etag === undefined ? {} : { ifMatch: etag };
    try {
      await sendAndWait(
        context,
        () => client.put('container', name, body as unknown as ContainerPut, write, signal),
        signal,
      );
      return;
    } catch (error) {
      if (attempt >= attempts || !isPreconditionFailed(error)) throw error;
    }
  }
}
