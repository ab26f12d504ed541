// A plan as Markdown for comments on pull requests: a visible summary, each change folded, cut to the size limit of comments.
import { printable } from '../text/terminal-text.ts';
import type { Plan, ResourceChange } from '../plan/plan.ts';
import { renderChangeText, setLine, takeoverNote } from './render-plan.ts';
import { isChange, isTakeoverOnly, summaryLine } from '../plan/summary.ts';

/** GitHub takes 65,536 characters, GitLab more. */
const maxCharacters = 60_000;

/** `limit`: smaller if the text shares a comment. */
export function renderMarkdown(plan: Plan, limit = maxCharacters): string {
  const shown = plan.changes.filter(isChange);
  const head = [
    `### ${shown.length === 0 ? 'No changes' : summaryLine(plan.summary)}`,
    ...(isTakeoverOnly(plan) ? [takeoverNote(plan)] : []),
    ...(plan.guards.length === 0
      ? []
      : [
          plan.guards
            .map((guard) => `> **Refused:** ${inline(guard.message)}<br>${inline(guard.remedy)}`)
            .join('\n>\n'),
        ]),
    ...(shown.length === 0 ? [] : [table(shown), ...(plan.place === undefined ? [] : [inline(setLine(plan))])]),
  ].join('\n\n');
  const tail =
    plan.orphans.length === 0
      ? ''
      : `\n\nNo longer declared, left alone: ${plan.orphans
          .slice(0, 20)
          .map((address) => `\`${address}\``)
          .join(', ')}`;
  return `${withDetails(head.slice(0, limit), shown, tail, limit)}\n`;
}

function withDetails(head: string, shown: readonly ResourceChange[], tail: string, limit: number): string {
  let text = head;
  for (const [index, change] of shown.entries()) {
    const block = details(change);
    if (text.length + block.length + tail.length > limit) {
      const left = shown.length - index;
      return `${text}\n\n_${left} more ${left === 1 ? 'change is' : 'changes are'} too long for this comment: see the plan itself._${tail}`;
    }
    text += block;
  }
  return `${text}${tail}`;
}

const maxRows = 200;

function table(shown: readonly ResourceChange[]): string {
  const rows = shown.slice(0, maxRows).map((change) => {
    const action = [
      change.action === 'no-op' ? (change.claims.length > 0 ? 'take over' : '') : change.action,
      change.power ?? '',
    ];
    const words = action.filter((word) => word !== '').join(', ');
    return `| \`${printable(change.address)}\` | ${words === '' ? 'record' : words} | ${change.guard === undefined ? change.effect : 'refused'} | ${change.changes.length} |`;
  });
  const more = shown.length > maxRows ? [`| and ${shown.length - maxRows} more | | | |`] : [];
  return ['| object | action | costs | keys |', '| --- | --- | --- | ---: |', ...rows, ...more].join('\n');
}

/** Uses a longer fence than any in the untrusted text, so that the text cannot end the block. */
function details(change: ResourceChange): string {
  const text = renderChangeText(change);
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `\n\n<details><summary><code>${escaped(change.address)}</code></summary>\n\n${fence}diff\n${text}\n${fence}\n\n</details>`;
}

const escaped = (text: string): string =>
  printable(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const inline = (text: string): string => escaped(text).replaceAll('|', String.raw`\|`);
