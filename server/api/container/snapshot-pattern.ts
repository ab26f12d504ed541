// The pattern for snapshot names (snapshots.pattern, real system section 19): checks it and renders it. Pure.
import { snapshotName } from '../names.ts';

const expression = /\{\{\s*(.*?)\s*\}\}/g;
const creationDate = /^creation_date(?:\s*\|\s*date\s*:\s*(?:"([^"]*)"|'([^']*)'))?$/;
const defaultLayout = '2006-01-02_15-04-05';

/** The pattern with its expressions replaced, `%d` still in it; or the broken rule. */
export function renderPattern(pattern: string, at: Date): { readonly text: string } | { readonly rule: string } {
  let rule: string | undefined;
  const text = pattern.replace(expression, (whole, inner: string) => {
    const match = creationDate.exec(inner);
    if (match !== null) return renderDate(match[1] ?? match[2] ?? defaultLayout, at);
    rule = `has ${whole}, where only {{creation_date}} and {{creation_date|date:"${defaultLayout}"}} are known`;
    return '';
  });
  if (rule !== undefined) return { rule };
  return text.split('%d').length > 2 ? { rule: 'must contain %d at most once' } : { text };
}

/** Undefined: it renders to valid snapshot names. */
export function patternRule(pattern: string): string | undefined {
  const rendered = renderPattern(pattern, new Date(Date.UTC(2026, 10, 22, 13, 4, 5)));
  if ('rule' in rendered) return rendered.rule;
  const name = rendered.text.replace('%d', '0');
  const rule = snapshotName(name);
  return rule === undefined
    ? undefined
    : `must give names that snapshots may have, but ${JSON.stringify(name)} ${rule}`;
}

const monthNames = 'January February March April May June July August September October November December'.split(' ');
const dayNames = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** The layout names its fields by a sample time: Monday, January 2 2006, 15:04:05. In UTC, like all times of the API. */
function renderDate(layout: string, at: Date): string {
  const [month, day, hour] = [at.getUTCMonth() + 1, at.getUTCDate(), at.getUTCHours()];
  const [minute, second, year] = [at.getUTCMinutes(), at.getUTCSeconds(), at.getUTCFullYear()];
  const [monthName, dayName] = [monthNames[month - 1] ?? '', dayNames[at.getUTCDay()] ?? ''];
  const two = (value: number): string => String(value).padStart(2, '0');
  const hour12 = hour % 12 === 0 ? 12 : hour % 12;
  const fields: Readonly<Record<string, string>> = {
    '2006': String(year),
    '06': two(year % 100),
    January: monthName,
    Jan: monthName.slice(0, 3),
    '01': two(month),
    '1': String(month),
    Monday: dayName,
    Mon: dayName.slice(0, 3),
    '02': two(day),
    '2': String(day),
    '15': two(hour),
    '03': two(hour12),
    '3': String(hour12),
    PM: hour < 12 ? 'AM' : 'PM',
    '04': two(minute),
    '4': String(minute),
    '05': two(second),
    '5': String(second),
    MST: 'UTC',
  };
  return layout.replace(/2006|January|Jan|Monday|Mon|MST|15|PM|0?[1-5]|06/g, (field) => fields[field] ?? field);
}
