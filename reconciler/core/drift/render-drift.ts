// Drift as text, JSON and Markdown, secrets masked. Pure.
import type { DriftCause, DriftDifference, DriftIgnored, DriftObject, DriftReport } from './drift.ts';
import type { Json, JsonObject } from '../documents/document.ts';
import { shownInside } from '../documents/inside.ts';
import { ignoredBlock, ruleJson, type IgnoredLine } from '../ownership/ignored-paths.ts';
import { paints, printable, type Paints, type Color } from '../text/terminal-text.ts';
import { describeSeen, seenJson } from './lifecycle-changes.ts';
import { hidden, redact } from '../documents/secret.ts';

const causes: Readonly<Record<DriftCause, string>> = {
  outside: 'changed outside since the last apply',
  manifest: 'the manifest changed and was not applied',
  unknown: '',
};

export function renderDrift(report: DriftReport, options: { readonly color: Color }): string {
  const paint = paints(options.color);
  const blocks = report.objects.map((object) => renderObject(object, paint));
  const ignored = ignoredBlock(report.ignored.map(ignoredLine), options);
  return `${[...blocks, paint.bold(driftLine(report)), ...undeclared(report), ...ignored].join('\n\n')}\n`;
}

const ignoredLine = (one: DriftIgnored): IgnoredLine => ({
  address: one.address,
  path: one.path,
  sides: sides(one, 'differs'),
  rule: one.rule,
});

/** `Drift: 2 of 9 objects differ; 1 difference was made outside.` */
export function driftLine({ objects, checked, set }: DriftReport): string {
  if (objects.length === 0)
    return checked === 0
      ? `No drift: the set ${set} declares and owns nothing.`
      : `No drift: ${things(checked)} as declared.`;
  const outside = objects.flatMap(({ differences }) => differences).filter(({ cause }) => cause === 'outside').length;
  const made =
    outside === 0 ? '' : `; ${outside} ${outside === 1 ? 'difference was' : 'differences were'} made outside`;
  return `Drift: ${objects.length} of ${checked} ${checked === 1 ? 'object' : 'objects'} ${objects.length === 1 ? 'differs' : 'differ'}${made}.`;
}

const things = (count: number): string => (count === 1 ? 'the object is' : `all ${count} objects are`);

const undeclared = ({ undeclared: addresses }: DriftReport): readonly string[] =>
  addresses.length === 0 ? [] : [`? owned by the set and no longer declared: ${printable(addresses.join(', '))}`];

export const renderDriftObject = (object: DriftObject, options: { readonly color: Color }): string =>
  renderObject(object, paints(options.color));

function renderObject({ address, what, differences, seen }: DriftObject, paint: Paints): string {
  const name = paint.bold(printable(address));
  const last = seen === undefined ? [] : [paint.dim(`      # seen: ${describeSeen(seen)}`)];
  if (what === 'missing') return [`${paint.red('  -')} ${name} does not exist`, ...last].join('\n');
  const title = what === 'outside' ? ' (no longer declared)' : '';
  const lines = differences.map((one) => {
    const cause = causes[one.cause] === '' ? '' : paint.dim(`  # ${causes[one.cause]}`);
    return `      ${printable(one.path)}: ${sides(one, what)}${cause}`;
  });
  return [`${paint.yellow('  ~')} ${name}${title}`, ...lines, ...last].join('\n');
}

const sides = (one: DriftDifference, what: DriftObject['what']): string =>
  what === 'outside'
    ? `is ${shown(one, one.live)}`
    : `is ${shown(one, one.live)}, declared ${shown(one, one.declared)}`;

const longest = 100;

function shown({ secret, path, segments = [] }: DriftDifference, value: Json | undefined): string {
  if (value === undefined) return 'absent';
  const inside = shownInside(segments, value, secret);
  if (secret && inside === undefined) return hidden;
  const text = inside ?? JSON.stringify(redact(value, path.split('.')));
  return printable(text.length > longest ? `${text.slice(0, longest)}... (${text.length} characters)` : text);
}

/** `live` and `declared` are left out where they are absent. */
export function driftJson(report: DriftReport): JsonObject {
  const { set, objects, checked } = report;
  return {
    format_version: '1.0',
    set,
    checked,
    drifted: objects.length > 0,
    summary: driftLine(report),
    objects: objects.map(driftObjectJson),
    undeclared: report.undeclared,
    ignored: report.ignored.map(({ address, path, rule }) => ({ address, path, ...ruleJson(rule) })),
  };
}

export const driftObjectJson = ({ address, what, differences, seen }: DriftObject): JsonObject => ({
  address,
  what,
  differences: differences.map((one) => ({
    path: one.path,
    cause: one.cause,
    ...(one.live === undefined ? {} : { live: masked(one, one.live) }),
    ...(one.declared === undefined || what === 'missing' ? {} : { declared: masked(one, one.declared) }),
  })),
  ...(seen === undefined ? {} : { seen: seenJson(seen) }),
});

const masked = ({ secret, path }: DriftDifference, value: Json): Json =>
  secret ? hidden : redact(value, path.split('.'));

const maxRows = 500;

export function driftMarkdown(report: DriftReport): string {
  const rows = report.objects.flatMap(({ address, what, differences }) =>
    differences.map((one) => {
      const [live, declared] =
        what === 'missing'
          ? ['does not exist', '']
          : [shown(one, one.live), what === 'outside' ? '' : shown(one, one.declared)];
      return `| ${code(address)} | ${one.path === '' ? '' : code(one.path)} | ${code(live)} | ${declared === '' ? '' : code(declared)} | ${causes[one.cause]} |`;
    }),
  );
  const more = rows.length > maxRows ? [`| and ${rows.length - maxRows} more | | | | |`] : [];
  const head = ['| object | key | is | declared | why |', '| --- | --- | --- | --- | --- |'];
  const table = rows.length === 0 ? [] : ['', ...head, ...rows.slice(0, maxRows), ...more];
  return `${[`### ${driftLine(report)}`, ...table].join('\n')}\n`;
}

/** Escapes values of others, so that they cannot end a cell or a code span. */
const code = (text: string): string =>
  `<code>${printable(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('|', '&#124;').replaceAll('`', '&#96;').replaceAll('\n', ' ')}</code>`;
