// The expiry of a snapshot of a container or volume: the attribute, and its value in the state.
import { isTimestamp } from '../../../server/api/text/timestamp.ts';
import { text, serverDefault } from '../../framework/attribute.ts';

export const never = '0001-01-01T00:00:00Z';
const isNever = (time: string): boolean => time === '' || time.startsWith('0001-01-01');

const isSameTime = (before: string, after: string): boolean => Date.parse(before) === Date.parse(after);

/** A written spelling stays while it means the same. Null means never, unless the configuration has its own spelling of never. */
export function shownExpiry(live: string, before: string | null): string | null {
  if (before !== null && (isNever(live) ? isNever(before) : isSameTime(before, live))) return before;
  return isNever(live) ? null : live;
}

/** `of`: the object whose policy is the default. */
export const expiryAttribute = (of: 'container' | 'volume') =>
  text({
    doc: `Time of its deletion, such as \`2030-01-31T12:00:00Z\`. Default: never, or the policy of the ${of}.`,
    ...serverDefault,
    check: (time: string) => (isTimestamp(time) ? undefined : 'must be a timestamp such as 2030-01-31T12:00:00Z'),
    same: isSameTime,
  });
