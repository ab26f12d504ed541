// Endpoints of commands, consoles and logs of containers: requests to use cases and back.
import type { Readable } from 'node:stream';
import type { ContainerSessions } from '../../services/containers/exec/sessions.ts';
import { async_, doneAfter, type RouteReply, type RouteTable, sync } from '../route.ts';

export function containerSessionRoutes({ sessions }: { readonly sessions: ContainerSessions }) {
  return {
    'containers.exec': (context) => async_(sessions.exec(context.caller, context.params.name, context.body)),
    'containers.console.get': async (context) => bytes(await sessions.consoleLog(context.params.name)),
    'containers.console.post': (context) => async_(sessions.console(context.caller, context.params.name, context.body)),
    'containers.console.delete': (context) => doneAfter(sessions.clearConsoleLog(context.params.name)),
    'containers.logs.list': async (context) => sync(await sessions.logs(context.params.name)),
    'containers.logs.get': async (context) => bytes(await sessions.log(context.params.name, context.params.file)),
    'containers.logs.delete': (context) => doneAfter(sessions.deleteLog(context.params.name, context.params.file)),
  } satisfies Partial<RouteTable>;
}

const bytes = (stream: Readable): RouteReply => ({
  kind: 'stream',
  headers: { 'content-type': 'application/octet-stream' },
  stream,
});
