// `gantry diff`: what an apply would change as a unified diff, with the exit codes of diff(1): 0 same, 1 different, above 1 error.
// The diff of several hosts is one patch, in which the host name begins each name.
import { stringify } from 'yaml';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { applyEdits, putBody } from '../../../core/plan/apply-edits.ts';
import type { Change } from '../../../core/documents/change.ts';
import { isInside, pathText } from '../../../core/documents/inside.ts';
import { isNote } from '../../../core/ownership/owner-records.ts';
import { coreKind } from '../../../core/kinds/index.ts';
import { isMap, mapOf } from '../../../core/documents/json-values.ts';
import { printable } from '../../../core/text/terminal-text.ts';
import type { Plan, ResourceChange } from '../../../core/plan/plan.ts';
import { isSecret, redact } from '../../../core/documents/secret.ts';
import { unifiedDiff } from '../../../core/text/unified-diff.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import type { Context, Run, Output } from '../../session/context.ts';
import type { DiffOptions } from './planning-verbs.ts';
import { different, withDiffCodes, worstDiffCode } from '../../errors/diff-codes.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { askLoaded, codesOf, errorOf } from '../../hosts/ask-hosts.ts';
import { paintFor } from '../../output/paint.ts';
import { planOf } from '../../session/plan.ts';
import { withClient } from '../../session/connect.ts';

export const diff: Run<DiffOptions> = (context, args, fleet) =>
  withDiffCodes(async () => {
    const answers = await askLoaded(context, fleet, args, (own, loaded, host) =>
      withDiffCodes(() => diffOn(own, loaded, host === undefined ? '' : `${host.name}/`)),
    );
    const { stdout } = context.io;
    if (context.isJson) {
      const hosts = answers.map((one) =>
        one.failure === undefined
          ? { ...(one.host && { host: one.host.name }), diff: one.value.text }
          : { host: one.host.name, ...errorOf(one) },
      );
      stdout.write(`${JSON.stringify(fleet === undefined ? hosts[0] : { hosts })}\n`);
    } else for (const one of answers) if (one.failure === undefined) stdout.write(painted(context, one.value.text));
    return worstDiffCode(codesOf(answers));
  });

/** `prefix` stands before the names of objects, such as the name of their host. */
async function diffOn(context: Context<DiffOptions>, loaded: Loaded, prefix: string): Promise<HostDiff> {
  const plan = await withClient(context, async (client) => (await planOf(context, client, loaded, 'apply')).plan);
  const text = plan.changes.map((change) => diffOf(change, plan, prefix)).join('');
  return { text, code: text === '' ? exitCodes.ok : different };
}

interface HostDiff {
  readonly text: string;
  readonly code: ExitCode;
}

function diffOf(change: ResourceChange, plan: Plan, prefix: string): string {
  const { address, kind, action, live } = change;
  const created = plan.steps.find((step) => step.action === 'create' && change.steps.includes(step.id));
  const before = live === undefined ? '' : toYaml(kind, withState(bodyOf(kind, live), change, 'before'), change);
  const after =
    action === 'delete'
      ? ''
      : live === undefined
        ? toYaml(
            kind,
            withState(
              applyEdits(created?.action === 'create' ? created.body : {}, change.changes.filter(isOfInside)),
              change,
              'after',
            ),
            change,
          )
        : toYaml(
            kind,
            withState(applyEdits(bodyOf(kind, live), change.changes.filter(isField)), change, 'after'),
            change,
            true,
          );
  const text = unifiedDiff(before, after);
  if (text === '') return '';
  const name = `${prefix}${printable(address)}`;
  return `--- ${live === undefined ? '/dev/null' : `live/${name}`}\n+++ ${action === 'delete' ? '/dev/null' : `declared/${name}`}\n${text}`;
}

const isOfInside = ({ segments }: Change): boolean => isInside(segments);

/** The object and its observed files. */
function bodyOf(kind: ResourceChange['kind'], live: object): JsonObject {
  const files = mapOf((live as JsonObject)['files']);
  return { ...putBody(kind, live, []), ...(Object.keys(files).length === 0 ? {} : { files }) };
}

/** Skips `source`, which only matters at creation. */
const isField = ({ path }: { readonly path: string }): boolean => path !== 'source';

function withState(body: JsonObject, { power }: ResourceChange, side: 'before' | 'after'): JsonObject {
  if (power === undefined || power === 'restart') return body;
  const isUp = (power === 'start') === (side === 'after');
  return { ...body, state: isUp ? 'running' : 'stopped' };
}

/** As YAML without generated keys, sorted. A secret is masked; a changed one is marked. */
function toYaml(kind: ResourceChange['kind'], body: JsonObject, change: ResourceChange, isAfter = false): string {
  const { isComputed } = coreKind(kind);
  const changed = new Set(change.changes.map(({ path }) => path));
  const walk = (value: Json, path: readonly string[]): Json => {
    if (
      isSecret(path, value, change.secrets) ||
      change.changes.some((edit) => edit.secret && edit.path === pathText(path))
    )
      return changed.has(pathText(path)) && isAfter ? '(secret, changed)' : '(secret)';
    if (!isMap(value)) return redact(value, path, change.secrets);
    const keys = Object.keys(value)
      .filter(
        (key) =>
          !(
            path[0] === 'config' &&
            (isNote(key) || (isComputed([...path, key]) && !changed.has(pathText([...path, key]))))
          ),
      )
      .sort();
    return Object.fromEntries(keys.map((key) => [key, walk(value[key] ?? null, [...path, key])]));
  };
  return stringify(mapOf(walk(body, [])));
}

function painted(context: Output, text: string): string {
  if (!context.color) return text;
  const paint = paintFor(context.color);
  const tint = (line: string): string =>
    line.startsWith('+++') || line.startsWith('---')
      ? paint.bold(line)
      : line.startsWith('+')
        ? paint.green(line)
        : line.startsWith('-')
          ? paint.red(line)
          : line.startsWith('@@')
            ? paint.dim(line)
            : line;
  return text.split('\n').map(tint).join('\n');
}
