// Marks a state that a `moved` block took over from another provider. Its object exists, so no plan may create it, and none may replace it
// because the configuration names another place. The mark ends with the second read, which is in a later run of Terraform, or an update.
import type { PrivateData } from './object-type.ts';

const key = 'moved';
const after: Readonly<Record<string, string>> = { unread: 'found', found: 'ended' };

export const markMove = (): PrivateData => ({ [key]: 'unread' });

export const isMoved = (privateData: PrivateData): boolean => Object.hasOwn(after, privateData[key] ?? '');

/** Whether no read has found the object yet. */
export const isUnread = (privateData: PrivateData): boolean => privateData[key] === 'unread';

/** A read has found the object. */
export function noteFound(privateData: PrivateData): void {
  const next = after[privateData[key] ?? ''];
  if (next !== undefined) privateData[key] = next;
}

export function endMove(privateData: PrivateData): void {
  delete privateData[key];
}
