// Marks a state that a `moved` block took over from another provider. Its object exists, so no plan may create it, and none may replace it
// because the configuration names another place. The first update ends the mark: it shows that a configuration named the place of the
// object. A refresh does not, since a run that only refreshes never sees the configuration.
import { markImport } from './import-mark.ts';
import type { PrivateData } from './object-type.ts';

const key = 'moved';

export const markMove = (): PrivateData => ({ ...markImport('moved'), [key]: 'unread' });

export const isMoved = (privateData: PrivateData): boolean => ['unread', 'found'].includes(privateData[key] ?? '');

/** Whether no read has found the object yet. */
export const isUnread = (privateData: PrivateData): boolean => privateData[key] === 'unread';

/** A read has found the object. */
export function noteFound(privateData: PrivateData): void {
  if (isUnread(privateData)) privateData[key] = 'found';
}

export function endMove(privateData: PrivateData): void {
  delete privateData[key];
}
