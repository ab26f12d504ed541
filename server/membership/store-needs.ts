// Which requests a member carries out while the store of the cluster does not answer: reads, and what acts on its own containers without
// changing a record. Pure.
import type { Endpoint } from '../api/endpoints/endpoint.ts';

const withoutRecords: ReadonlySet<string> = new Set([
  'containers.state.put',
  'containers.exec',
  'containers.console.post',
  'containers.console.delete',
  'containers.files.post',
  'containers.files.delete',
  'containers.logs.delete',
  'operations.delete',
]);

export const needsStore = ({ id, method }: Pick<Endpoint, 'id' | 'method'>): boolean =>
  method !== 'GET' && !withoutRecords.has(id);
