// A plan as text: Terraform's symbols, one line per change, secrets masked. Policies read plan-json.ts instead.
import type { Change } from '../documents/change.ts';
import type { Json } from '../documents/document.ts';
import { groupEqual, spellRanges, type Group, type ChangeText } from './equal-changes.ts';
import { shownInside } from '../documents/inside.ts';
import { changedEntries } from './list-entries.ts';
import { ignoredBlock, type IgnoredLine } from '../ownership/ignored-paths.ts';
import { paints, printable, type Paints, type Color } from '../text/terminal-text.ts';
import type { AffectedObject, Guard, Plan, ResourceChange } from '../plan/plan.ts';
import { hidden, redact } from '../documents/secret.ts';
import { isChange, isTakeoverOnly, summaryLine } from '../plan/summary.ts';
import { namesText } from '../../../server/api/text/names-text.ts';

export interface RenderOptions {
  readonly color: Color;
  readonly showsSecrets?: boolean;
  /** One line for each object, or for each group of equal ones. */
  readonly isCompact?: boolean;
}

export function renderPlan(plan: Plan, options: RenderOptions): string {
  const paint = paints(options.color);
  const changes = plan.changes.filter(isChange);
  const shown = options.showsSecrets === true ? changes.map(inClear) : changes;
  const groups = groupEqual(shown.map((change) => shownOf(change, paint)));
  const blocks = groups.map((group) => renderGroup(group, options.isCompact === true, paint));
  if (plan.guards.length > 0) blocks.push(plan.guards.map((guard) => renderGuard(guard, paint)).join('\n'));
  const end = shown.length === 0 ? noChange(plan) : paint.bold(`${summaryLine(plan.summary)}${refusedCount(plan)}`);
  const orphans = renderOrphans(plan, paint);
  const ignored = ignoredBlock(ignoredLinesOf(plan.changes), options);
  const whose = plan.place === undefined ? '' : `\n${paint.dim(printable(setLine(plan)))}`;
  const takeover = isTakeoverOnly(plan) ? [takeoverNote(plan)] : [];
  return `${[...spaced(blocks), `${end}${whose}`, ...takeover, ...orphans, ...ignored].join('\n\n')}\n`;
}

const inClear = (change: ResourceChange): ResourceChange => ({
  ...change,
  changes: change.changes.map((edit) => ({ ...edit, secret: false, isClear: true })),
});

/** Differences that `manage.ignore` hides. */
export const ignoredLinesOf = (changes: readonly ResourceChange[]): readonly IgnoredLine[] =>
  changes.flatMap(({ address, ignored = [] }) =>
    ignored.map((one) => ({
      address,
      path: one.path,
      sides: `is ${shownValue(one, one.before)}, declared ${shownValue(one, one.after)}`,
      rule: one.rule,
    })),
  );

/** An empty line around blocks of several lines; single lines stay together. */
function spaced(blocks: readonly string[]): readonly string[] {
  const groups: string[] = [];
  let isOpen = false;
  for (const block of blocks) {
    const isLine = !block.includes('\n');
    if (isLine && isOpen) groups.push(`${groups.pop() ?? ''}\n${block}`);
    else groups.push(block);
    isOpen = isLine;
  }
  return groups;
}

function renderOwnership({ claims, releases, isPruned }: ResourceChange, paint: Paints): readonly string[] {
  const paths = claims.filter((path) => path !== '');
  return [
    ...(paths.length > 0 ? [paint.dim(`      <= taken over as they are: ${listed(paths)}`)] : []),
    ...(claims.includes('') ? [paint.dim('      <= the settings of manage: are recorded on it')] : []),
    ...(releases.length > 0 ? [paint.dim(`      => no longer owned, left as they are: ${listed(releases)}`)] : []),
    ...(isPruned === true ? [paint.dim('      # no document declares it any longer')] : []),
  ];
}

const renderOrphans = ({ orphans, set = '' }: Plan, paint: Paints): readonly string[] =>
  orphans.length === 0
    ? []
    : [paint.dim(`? no longer declared, left alone (--prune --set ${set} deletes): ${listed(orphans)}`)];

/** Names the set and its place, so that a wrong directory or set is noticed before the approval. */
export const setLine = ({ set = 'default', place = '' }: Plan): string => `For the set ${set}, declared at ${place}.`;

const refusedCount = (plan: Plan): string => (plan.guards.length === 0 ? '' : `; ${plan.guards.length} refused`);

/** Explains why `--detailed-exitcode` ends with 0 although apply has steps. */
export const takeoverNote = ({ set = 'default' }: Plan): string =>
  `No changes: everything is as declared. Apply only records on the server that it belongs to the set ${set}.`;

const noChange = (plan: Plan): string =>
  plan.mode === 'destroy'
    ? 'Nothing to destroy: none of the declared objects exists.'
    : plan.changes.length === 0
      ? 'No changes: nothing is declared.'
      : `No changes: ${plan.changes.length === 1 ? 'the declared object is' : `all ${plan.changes.length} declared objects are`} as declared.`;

/** One change without colours, with signs at the beginning of lines. */
export const renderChangeText = (change: ResourceChange): string =>
  renderChange(change, paints(false))
    .split('\n')
    .map((line) => line.replace(/^( +)([-+~!]) /, '$2$1'))
    .join('\n');

const renderChange = (change: ResourceChange, paint: Paints): string => {
  const { address, ...rest } = shownOf(change, paint);
  return renderGroup({ ...rest, addresses: [address] }, false, paint);
};

function renderGroup({ head, addresses, title, lines, tint }: Group & Tint, isCompact: boolean, paint: Paints): string {
  const [first = ''] = addresses;
  const names = addresses.length === 1 ? first : spellRanges(addresses);
  const count = addresses.length === 1 ? '' : ` (${addresses.length} equal objects)`;
  const line = paint[tint](`${head} ${paint.bold(printable(names))}${count}${title}`);
  return isCompact ? line : [line, ...lines].join('\n');
}

interface Tint {
  readonly tint: keyof Paints;
}

function shownOf(change: ResourceChange, paint: Paints): ChangeText & Tint {
  const isClaim = change.action === 'no-op' && change.power === undefined && change.claims.length > 0;
  const [symbol, tint] = isClaim ? (['<=', 'blue'] as const) : signs[change.action];
  const lines = [
    ...change.reasons.map((reason) => paint.dim(`      # ${printable(reason)}`)),
    ...renderEdits(change, paint),
    ...renderOwnership(change, paint),
    ...change.affects.map((affected) => `      ${renderAffected(affected, paint)}`),
    ...(change.unmanaged.length === 0
      ? []
      : [paint.dim(`      ? not managed here, left alone: ${listed(change.unmanaged)}`)]),
  ];
  return { address: change.address, head: symbol.padStart(3), title: titleOf(change), lines, tint };
}

const signs = {
  create: ['+', 'green'],
  update: ['~', 'yellow'],
  replace: ['-/+', 'red'],
  delete: ['-', 'red'],
  'no-op': ['!', 'yellow'],
} as const satisfies Record<ResourceChange['action'], readonly [string, keyof Paints]>;

function titleOf(change: ResourceChange): string {
  const power = change.power === undefined ? '' : change.action === 'create' ? 'and start' : change.power;
  const words = [change.action === 'replace' ? (change.isRebuilt === true ? 'rebuild' : 'replace') : '', power].filter(
    (word) => word !== '',
  );
  const refused = change.guard === undefined ? '' : ' REFUSED';
  const wave = change.wave === undefined ? '' : ` [wave ${change.wave}]`;
  return `${words.length === 0 ? '' : ` (${words.join(', ')})`}${wave}${refused}`;
}

function renderEdits(change: ResourceChange, paint: Paints): readonly string[] {
  const width = Math.max(0, ...change.changes.map((edit) => edit.path.length));
  return change.changes.flatMap((edit) => [
    `      ${renderEdit(edit, Math.min(width, 40), change, paint)}`,
    ...renderEntries(edit, paint),
  ]);
}

const maxEntries = 20;

/** The changed entries of a list that is too long for one line. */
function renderEntries(edit: Change, paint: Paints): readonly string[] {
  const [before, after] = [edit.before, edit.after].map((value) =>
    value === undefined || edit.isClear === true ? value : redact(value, edit.segments),
  );
  if (edit.secret || Math.max(...[before, after].map((value) => JSON.stringify(value ?? '').length)) <= longest)
    return [];
  const found = changedEntries(before, after);
  if (found === undefined || shownInside(edit.segments, edit.after ?? [], edit.secret) !== undefined) return [];
  const lines = [
    ...found.gone.map((entry) => `          ${paint.red('-')} ${cut(entry)}`),
    ...found.come.map((entry) => `          ${paint.green('+')} ${cut(entry)}`),
  ];
  const more = lines.length - maxEntries;
  return more <= 0 ? lines : [...lines.slice(0, maxEntries), paint.dim(`          and ${more} more entries`)];
}

function renderEdit(edit: Change, width: number, change: ResourceChange, paint: Paints): string {
  const path = printable(edit.path).padEnd(width);
  const drift = edit.origin === 'drift' ? paint.dim('  # was changed outside') : '';
  const cost = change.action !== 'create' && edit.effect !== 'live' ? paint.red(`  # ${costs[edit.effect]}`) : drift;
  const after = shownValue(edit, edit.after);
  if (change.action === 'create' || edit.before === undefined) return `${paint.green('+')} ${path} = ${after}${cost}`;
  const before = shownValue(edit, edit.before);
  const inside =
    edit.inside === undefined || edit.after === undefined ? '' : paint.dim(`  # in it ${listed(edit.inside)}`);
  if (edit.after === undefined) return `${paint.red('-')} ${path} = ${before}${cost}`;
  return `${paint.yellow('~')} ${path} = ${before} -> ${after}${cost}${inside}`;
}

const costs = { live: '', restart: 'needs a restart', recreate: 'needs recreation' } as const;

const longest = 100;

export function shownValue(edit: Change, value: Json | undefined): string {
  if (value === undefined) return '(absent)';
  const inside = shownInside(edit.segments, value, edit.secret);
  if (edit.secret && inside === undefined) return hidden;
  const text = inside ?? JSON.stringify(edit.isClear === true ? value : redact(value, edit.segments));
  return cut(text, typeof value === 'string' ? value.split('\n').length : 1);
}

const cut = (text: string, lines = 1): string =>
  text.length <= longest
    ? printable(text)
    : `${printable(text.slice(0, longest))}... (${text.length} characters${lines > 1 ? `, ${lines} lines` : ''})`;

function renderAffected({ address, effect, foreign }: AffectedObject, paint: Paints): string {
  const target = printable(address);
  if (effect === 'live') return `  reaches ${target} at once`;
  const how = effect === 'recreate' ? 'only by recreation' : foreign ? 'at its next start' : 'by a restart';
  const note = foreign ? '; it is not declared here, so it is left running as it is' : '';
  return `${paint.yellow('!')} reaches ${target} ${how}${note}`;
}

const renderGuard = (guard: Guard, paint: Paints): string =>
  `${paint.red('Refused')}: ${printable(guard.message)}\n         ${printable(guard.remedy)}`;

const listed = (names: readonly string[]): string => printable(namesText(names, 6));
