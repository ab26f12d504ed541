// Operation endpoints: requests to the operation manager and back.
import { errors } from '../../api/errors.ts';
import type { Operations } from '../../operations/manager.ts';
import { collection, done, isOfAllProjects, sync, type RouteTable } from '../route.ts';

export function operationRoutes(operations: Operations) {
  return {
    'operations.list': ({ query, caller }) => {
      const found = operations.list(isOfAllProjects(query) ? undefined : caller.project);
      return collection(
        query,
        () => found.map((operation) => `/1.0/operations/${operation.id}`),
        () => found,
      );
    },
    'operations.get': ({ params, query }) => sync(operations.get(params.id, namedProject(query))),
    'operations.delete': ({ params, query }) => {
      operations.cancel(params.id, namedProject(query));
      return done;
    },
    'operations.wait': async ({ params, query, signal }) => {
      const seconds = parseTimeout(query.timeout);
      const timeoutMs = seconds === undefined ? undefined : seconds * 1000;
      return sync(await operations.wait(params.id, timeoutMs, signal, namedProject(query)));
    },
  } satisfies Partial<RouteTable>;
}

/** An operation's URL names no project: only a request that names one is restricted to it. */
const namedProject = ({ project = '' }: { readonly project?: string | undefined }): string | undefined =>
  project === '' ? undefined : project;

/** Absent or negative: wait without limit (spec part 8). */
function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^-?\d+$/.test(text)) {
    throw errors.invalid('query', [
      { path: 'timeout', message: `must be a number of seconds, is ${JSON.stringify(text)}` },
    ]);
  }
  const seconds = Number(text);
  return seconds < 0 ? undefined : seconds;
}
