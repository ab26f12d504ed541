// Snapshot schedules: five cron fields, aliases, or several of both, and whether one is due. The caller passes the time. Pure.

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly words?: readonly string[];
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const fields: readonly Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: months },
  { name: 'day of week', min: 0, max: 7, words: days },
];

const aliases: ReadonlyMap<string, string> = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@annually', '0 0 1 1 *'],
  ['@yearly', '0 0 1 1 *'],
]);
const aliasNames = [...aliases.keys()].join(', ');

export interface Schedule {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly daysOfMonth: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly daysOfWeek: ReadonlySet<number>;
  /** Both day fields are restricted: then either suffices, as in cron. */
  readonly eitherDay: boolean;
}

/** A minute in the host's local time. */
export interface Minute {
  readonly minute: number;
  readonly hour: number;
  readonly dayOfMonth: number;
  /** January is 1. */
  readonly month: number;
  /** Sunday is 0. */
  readonly dayOfWeek: number;
}

/** The schedules of a text: the five fields contain commas, so only a comma and a space, or an alias, ends one. */
const splitSchedules = (text: string): readonly string[] =>
  text
    .trim()
    .split(/,\s+|,(?=@)|(?<=@[a-z]+),/i)
    .map((each) => each.trim());

/** The schedules, any of which makes a snapshot due, or the broken rule. */
export function parseSchedule(text: string): readonly Schedule[] | string {
  const schedules: Schedule[] = [];
  for (const each of splitSchedules(text)) {
    if (isOffTheClock(each)) continue;
    const schedule = parseOne(each);
    if (typeof schedule === 'string') return schedule;
    schedules.push(schedule);
  }
  return schedules;
}

/** Whether each start of the container makes a snapshot due. */
export const isDueAtStart = (text: string): boolean =>
  splitSchedules(text).some((each) => each.toLowerCase() === '@startup');

const isOffTheClock = (word: string): boolean => /^@(?:never|startup)$/i.test(word);

function parseOne(text: string): Schedule | string {
  const parts = (aliases.get(text.toLowerCase()) ?? text).split(/ +/);
  if (parts.length !== fields.length) {
    return `must have exactly 5 fields (minute hour day-of-month month day-of-week), or be one of ${aliasNames}, @startup, @never; several are separated by a comma and a space`;
  }
  const sets: Set<number>[] = [];
  for (const [index, field] of fields.entries()) {
    const part = parts[index] ?? '';
    const set = parseField(part, field);
    if (set === undefined) return `has ${JSON.stringify(part)} for the ${field.name}, which takes ${takes(field)}`;
    sets.push(set);
  }
  const [minutes, hours, daysOfMonth, monthSet, daysOfWeek] = sets as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ];
  if (daysOfWeek.delete(7)) daysOfWeek.add(0);
  const eitherDay = !parts[2]?.startsWith('*') && !parts[4]?.startsWith('*');
  return { minutes, hours, daysOfMonth, months: monthSet, daysOfWeek, eitherDay };
}

export const isDue = (schedules: readonly Schedule[], at: Minute): boolean =>
  schedules.some((schedule) => isOneDue(schedule, at));

function isOneDue(schedule: Schedule, at: Minute): boolean {
  if (!schedule.minutes.has(at.minute) || !schedule.hours.has(at.hour) || !schedule.months.has(at.month)) return false;
  const dayOfMonth = schedule.daysOfMonth.has(at.dayOfMonth);
  const dayOfWeek = schedule.daysOfWeek.has(at.dayOfWeek);
  return schedule.eitherDay ? dayOfMonth || dayOfWeek : dayOfMonth && dayOfWeek;
}

const takes = (field: Field): string =>
  `*, numbers from ${field.min} to ${field.max}, ranges, lists and steps (*/5)${field.words === undefined ? '' : `, or names such as ${field.words[0]}`}`;

function parseField(text: string, field: Field): Set<number> | undefined {
  const set = new Set<number>();
  for (const element of text.split(',')) {
    const match = /^(?:(\*)|([a-z0-9]+)(?:-([a-z0-9]+))?)(?:\/([1-9][0-9]*))?$/i.exec(element);
    if (match === null) return undefined;
    const step = match[4] === undefined ? 1 : Number(match[4]);
    const low = match[1] === undefined ? numberOf(match[2] ?? '', field) : field.min;
    const open = match[1] !== undefined || (match[3] === undefined && match[4] !== undefined);
    const high = open ? field.max : match[3] === undefined ? low : numberOf(match[3], field);
    if (low === undefined || high === undefined || low > high) return undefined;
    for (let value = low; value <= high; value += step) set.add(value);
  }
  return set;
}

function numberOf(text: string, field: Field): number | undefined {
  const word = field.words?.indexOf(text.toLowerCase()) ?? -1;
  if (word >= 0) return word + field.min;
  if (!/^[0-9]{1,2}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= field.min && value <= field.max ? value : undefined;
}
