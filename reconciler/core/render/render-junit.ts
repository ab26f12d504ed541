// A plan as JUnit XML for build servers: one test case per object, which fails if the object differs or is refused. Pure.
import type { Plan, ResourceChange } from '../plan/plan.ts';
import { renderChangeText } from './render-plan.ts';
import { isChange, isTakeover } from '../plan/summary.ts';

export function renderJunit(plan: Plan): string {
  const failed = plan.changes.filter((change) => isFailed(change)).length;
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="gantry ${plan.mode}" tests="${plan.changes.length}" failures="${failed}" errors="0">`,
    ...plan.changes.map(testCase),
    '</testsuite>',
  ];
  return `${lines.join('\n')}\n`;
}

const isFailed = (change: ResourceChange): boolean =>
  (isChange(change) && !isTakeover(change)) || change.guard !== undefined;

function testCase(change: ResourceChange): string {
  const begin = `  <testcase classname=${attribute(change.kind)} name=${attribute(change.name)}`;
  if (!isFailed(change))
    return isChange(change)
      ? `${begin}><system-out>${escaped(renderChangeText(change))}</system-out></testcase>`
      : `${begin}/>`;
  const [type, message] =
    change.guard === undefined ? ['difference', `to ${change.action}`] : [change.guard.code, change.guard.message];
  const text = escaped(renderChangeText(change));
  return `${begin}><failure type=${attribute(type)} message=${attribute(message)}>${text}</failure></testcase>`;
}

const attribute = (text: string): string => `"${escaped(text).replaceAll('"', '&quot;').replaceAll('\n', '&#10;')}"`;

/** XML cannot represent control characters. */
const escaped = (text: string): string =>
  text
    // oxlint-disable-next-line no-control-regex
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '?')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
