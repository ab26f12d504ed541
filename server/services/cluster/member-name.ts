// The rule for names of cluster members: they appear in URLs, in `target`, and as the member's host name.
import { errors } from '../../api/errors.ts';
import { noMember } from '../../membership/members.ts';

const rule = 'must be 1 to 63 letters, digits, dots and hyphens, begin and end with a letter or digit, and not be none';

/** Throws AppError invalidName. */
export function checkMemberName(name: string): void {
  if (name === noMember || !/^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$/.test(name))
    throw errors.invalidName('cluster member', name, rule);
}
