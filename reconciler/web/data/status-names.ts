// The statuses of objects, the worst first.
import type { ObjectStatusName } from '../../controller/contract/index.ts';

export const statusNames: readonly ObjectStatusName[] = [
  'failed',
  'drifted',
  'missing',
  'syncing',
  'waiting',
  'suspended',
  'unknown',
  'synced',
  'undeclared',
];
