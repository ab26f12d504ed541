// A client that cannot write, for commands that only read.
import type { Call, Http } from '../../../server/client/transport/http.ts';
import type { ReadClient } from './plan.ts';

/** Refuses every call but GET. */
function onlyReading(http: Http): Http {
  const checked = (call: Call): Call => {
    if (call.method !== 'GET') throw new Error(`drift only reads, and this would be a ${call.method} of ${call.path}`);
    return call;
  };
  return {
    send: async (call, signal) => http.send(checked(call), signal),
    open: async (call, signal) => http.open(checked(call), signal),
  };
}

/** `list` replaces the reader of lists of the client's own project. */
export const readerOf = (
  client: ReadClient,
  list: ReadClient['list'] = (kind, signal) => client.list(kind, signal),
): ReadClient => ({
  list,
  server: (signal) => client.server(signal),
  get: (kind, name, signal, target) => client.get(kind, name, signal, target),
  members: (signal) => client.members(signal),
  http: onlyReading(client.http),
  operations: {
    list: (signal) => client.operations.list(signal),
    get: (id, signal) => client.operations.get(id, signal),
    wait: (operation, signal, onUpdate) => client.operations.wait(operation, signal, onUpdate),
  },
  inProject: (project) => readerOf(client.inProject(project)),
});
