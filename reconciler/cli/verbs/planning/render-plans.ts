// Renders the plans of several hosts as text, Markdown or JSON: equal plans once, then a table of all hosts. Pure.
import { dryRunJson, dryRunMarkdown } from '../../../core/plan/dry-run.ts';
import { planJson } from '../../../core/render/plan-json.ts';
import type { MarkedColor } from '../../../core/text/terminal-text.ts';
import type { PlanSummary } from '../../../core/plan/plan.ts';
import { renderMarkdown } from '../../../core/render/render-markdown.ts';
import { renderPlan } from '../../../core/render/render-plan.ts';
import { hasChanges, hasDifferences, isTakeoverOnly, summaryLine } from '../../../core/plan/summary.ts';
import { paintFor } from '../../output/paint.ts';
import { firstLine, renderTable } from '../../output/table.ts';
import { outcomeWord, type HostOutcome } from '../../hosts/each-host.ts';
import type { PlannedHost } from './plan-hosts.ts';

export type PlanOutcome = HostOutcome<PlannedHost>;

const noChanges: PlanSummary = { add: 0, change: 0, destroy: 0, restart: 0, replace: 0, power: 0, claim: 0 };

export const summaryOf = (outcome: PlanOutcome): PlanSummary =>
  outcome.failure === undefined ? outcome.value.planned.plan.summary : noChanges;

export const hostCount = (count: number): string => `${count} ${count === 1 ? 'host' : 'hosts'}`;

/** `Plan for 3 hosts: 4 to add, 0 to change, 0 to destroy; 1 without changes, 1 unreachable`. */
export function plansLine(outcomes: readonly PlanOutcome[]): string {
  const sum = (key: keyof PlanSummary): number => outcomes.reduce((all, one) => all + summaryOf(one)[key], 0);
  const summary = { ...noChanges, add: sum('add'), change: sum('change'), destroy: sum('destroy') };
  const total = { ...summary, restart: sum('restart'), claim: sum('claim') };
  const idle = outcomes.filter((one) => one.failure === undefined && !hasDifferences(one.value.planned.plan)).length;
  const failed = outcomes.flatMap(({ failure }) => (failure === undefined ? [] : [outcomeWord(failure.code)]));
  const remarks = [
    ...(idle > 0 ? [`${idle} without changes`] : []),
    ...[...new Set(failed)].map((word) => `${failed.filter((one) => one === word).length} ${word}`),
  ];
  return `${summaryLine(total).replace('Plan:', `Plan for ${hostCount(outcomes.length)}:`)}${remarks.length === 0 ? '' : `; ${remarks.join(', ')}`}`;
}

export interface Group {
  readonly text: string;
  readonly members: PlannedHost[];
}

/** Groups hosts with equal plans, in the order of their first host. */
export function groupsOf(outcomes: readonly PlanOutcome[], render: (host: PlannedHost) => string): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const outcome of outcomes) {
    if (outcome.failure !== undefined) continue;
    const text = render(outcome.value);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, { text, members: [outcome.value] });
    else group.members.push(outcome.value);
  }
  return [...groups.values()];
}

export const namesOf = ({ members }: Group): string => members.map(({ host }) => host.name).join(', ');

export function renderPlans(
  outcomes: readonly PlanOutcome[],
  options: { readonly color: MarkedColor; readonly showsSecrets?: boolean },
): string {
  const { color } = options;
  const paint = paintFor(color);
  const blocks = groupsOf(outcomes, ({ planned }) => renderPlan(planned.plan, options).trimEnd()).map((group) => {
    const [only] = group.members;
    const where = group.members.length === 1 ? ` (${only?.host.address ?? ''})` : ': the same plan';
    return `${paint.bold(`Host${group.members.length === 1 ? '' : 's'} ${namesOf(group)}`)}${where}\n${group.text}\n\n`;
  });
  return `${blocks.join('')}${planTable(outcomes, color)}\n\n${paint.bold(plansLine(outcomes))}\n`;
}

export function planTable(outcomes: readonly PlanOutcome[], color: MarkedColor): string {
  const paint = paintFor(color);
  const rows = outcomes.map((outcome) => [outcome.host.name, ...cellsOf(outcome)]);
  return renderTable(['HOST', 'ADD', 'CHANGE', 'DESTROY', 'RESTART', 'NOTE'], rows, paint);
}

function cellsOf(outcome: PlanOutcome): readonly string[] {
  if (outcome.failure !== undefined)
    return ['', '', '', '', `${outcomeWord(outcome.failure.code)}: ${firstLine(outcome.failure.message)}`];
  const { add, change, destroy, restart } = summaryOf(outcome);
  return [...[add, change, destroy, restart].map(String), noteOf(outcome.value)];
}

function noteOf({ planned: { plan }, isUnselected }: PlannedHost): string {
  if (isUnselected) return 'nothing selected';
  if (plan.guards.length > 0) return `${plan.guards.length} refused`;
  if (isTakeoverOnly(plan)) return `no changes, ${plan.summary.claim} to take over`;
  return hasChanges(plan) ? '' : 'no changes';
}

/** One object per host, in the order of the file. */
export const plansJson = (outcomes: readonly PlanOutcome[]): object => ({
  format_version: '1.0',
  hosts: outcomes.map((outcome) => {
    const { name, address } = outcome.host;
    const head = { host: name, address };
    if (outcome.failure === undefined) {
      const { planned, tried } = outcome.value;
      const more = tried === undefined ? {} : { dry_run: dryRunJson(tried) };
      return { ...head, plan: planJson(planned.plan), ...more };
    }
    const { code, message } = outcome.failure;
    return { ...head, error: { exit_code: code, message } };
  }),
});

/** GitHub limits comments on pull requests to about this length. */
const maxCharacters = 60_000;

export function plansMarkdown(outcomes: readonly PlanOutcome[]): string {
  const rows = outcomes.map((outcome) => `| ${[outcome.host.name, ...cellsOf(outcome)].map(cell).join(' | ')} |`);
  const table = [
    '| host | add | change | destroy | restart | |',
    '| --- | ---: | ---: | ---: | ---: | --- |',
    ...rows.slice(0, 200),
  ];
  const head = `### ${plansLine(outcomes)}\n\n${table.join('\n')}\n`;
  const whole = groupsOf(outcomes, ({ planned, tried }) => JSON.stringify([planJson(planned.plan), tried?.trials]));
  const changed = whole.filter(({ members: [first] }) => first !== undefined && hasChanges(first.planned.plan));
  const each = Math.floor((maxCharacters - head.length) / Math.max(1, changed.length)) - 200;
  const blocks = changed.map((group) => {
    const [first] = group.members;
    const plan = first === undefined ? '' : renderMarkdown(first.planned.plan, Math.max(1000, each)).trimEnd();
    const text = first?.tried === undefined ? plan : `${plan}\n${dryRunMarkdown(first.tried).trimEnd()}`;
    return `\n<details><summary>${cell(namesOf(group))}</summary>\n\n${text}\n\n</details>\n`;
  });
  return cutBetween(head, blocks);
}

function cutBetween(head: string, blocks: readonly string[]): string {
  let text = head;
  for (const [index, block] of blocks.entries()) {
    if (text.length + block.length > maxCharacters + 4000)
      return `${text}\n_The plans of ${blocks.length - index} more hosts are too long for this comment._\n`;
    text += block;
  }
  return text;
}

const cell = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('|', String.raw`\|`);
