// Reads `manage.ignore` and the end dates of its rules. core/ownership/ignored-paths.ts matches paths.
import type { IgnoreRule, Json, JsonObject } from '../../core/documents/document.ts';
import { kinds, type KindName } from '../../../server/api/kinds.ts';
import { nearestName } from '../../../server/api/text/nearest-word.ts';
import { coreKind } from '../../core/kinds/index.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const day = /^\d{4}-\d{2}-\d{2}$/;
const moment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** When a rule ends, in ms: a day lasts until midnight UTC. undefined for a text that is neither a day nor a time with a time zone. */
export function endOf(text: string): number | undefined {
  const isDay = day.test(text);
  if (!isDay && !moment.test(text)) return undefined;
  const date = text.slice(0, 10);
  const start = Date.parse(`${date}T00:00:00.000Z`);
  // 30 February would be read as a day in March.
  if (Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== date) return undefined;
  const endMs = isDay ? start + 86_399_999 : Date.parse(text);
  return Number.isNaN(endMs) ? undefined : endMs;
}

/** The valid rules. Expired rules become warnings with their reason. */
export function readIgnore(value: Json | undefined, nowMs: number, findings: Finding[]): readonly IgnoreRule[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly (string | JsonObject)[]).flatMap((item, index): IgnoreRule[] => {
    if (typeof item === 'string') return [{ path: item }];
    const place = `manage.ignore.${index}`;
    const { path, until, expires, reason } = item as Readonly<Record<string, string | undefined>>;
    if (until !== undefined && expires !== undefined) {
      findings.push(wrong('bad-value', place, `${place} must have until or expires, not both: they mean the same`));
      return [];
    }
    const end = until ?? expires;
    const rule: IgnoreRule = {
      path: path ?? '',
      ...withoutUndefined({ until: end, reason }),
    };
    return end === undefined ||
      isActive(rule, end, `${place}.${until === undefined ? 'expires' : 'until'}`, nowMs, findings)
      ? [rule]
      : [];
  });
}

function isActive(rule: IgnoreRule, end: string, place: string, nowMs: number, findings: Finding[]): boolean {
  const endMs = endOf(end);
  if (endMs === undefined) {
    const message = `${place} must be a day such as 2030-12-31 or a moment such as 2030-12-31T12:00:00Z, is ${JSON.stringify(end)}`;
    findings.push(wrong('bad-date', place, message));
    return false;
  }
  if (nowMs <= endMs) return true;
  const why = rule.reason === undefined ? '' : ` (${rule.reason})`;
  findings.push({
    severity: 'warning',
    code: 'ignore-ended',
    path: place,
    message: `the rule that ignores ${rule.path}${why} ended on ${end}: it no longer applies`,
    remedy: 'take it out, or give it another end',
  });
  return false;
}

/** Fields of documents that are not compared with the live object. */
const besideFields = ['state', 'exec', 'snapshots', 'aliases', 'labels', 'target'];

/** Errors for rules that cannot match: their path does not begin with a field of the kind. */
export function ignoreFindings(kind: KindName, rules: readonly IgnoreRule[]): readonly Finding[] {
  const fields = Object.keys(coreKind(kind).fields);
  const known = [...fields, ...besideFields];
  return rules.flatMap(({ path }, index): readonly Finding[] => {
    const [first = ''] = path.split(/[.[]/, 1);
    if (first.includes('*') || known.includes(first)) return [];
    const inConfig = fields.includes('config') && isConfigKey(kind, path) ? `config.${path}` : undefined;
    const near = inConfig ?? nearestName(first, known);
    const meant = near === undefined ? '' : ` (did you mean ${near}?)`;
    const message = `manage.ignore.${index}: a ${kinds[kind].label} has no ${path}${meant}, so nothing would be ignored`;
    return [wrong('unknown-path', `manage.ignore.${index}`, message, `paths begin with ${fields.join(', ')}`)];
  });
}

/** True for a config key that is written without `config.`. */
const isConfigKey = (kind: KindName, path: string): boolean =>
  path.includes('.') &&
  !coreKind(kind)
    .validate({ config: { [path]: '1' } }, 'x')
    .some(({ code }) => code === 'unknownKey');
