// Endpoints of commands, consoles and logs of containers: requests to use cases and back.
import type { Readable } from 'node:stream';
import type { ConsolePost, ExecPost } from '../../api/container/container-exec.ts';
import type { ContainerSessions } from '../../services/containers/exec/sessions.ts';
import { async_, done, param, sync, type RouteReply, type RouteTable } from '../route.ts';

export function containerSessionRoutes(sessions: ContainerSessions): RouteTable {
  return {
    'containers.exec': (context) =>
      async_(sessions.exec(context.caller, param(context, 'name'), context.body as ExecPost)),
    'containers.console.get': async (context) => bytes(await sessions.consoleLog(param(context, 'name'))),
    'containers.console.post': (context) =>
      async_(sessions.console(context.caller, param(context, 'name'), context.body as ConsolePost)),
    'containers.console.delete': async (context) => {
      await sessions.clearConsoleLog(param(context, 'name'));
      return done;
    },
    'containers.logs.list': async (context) => sync(await sessions.logs(param(context, 'name'))),
    'containers.logs.get': async (context) => bytes(await sessions.log(param(context, 'name'), param(context, 'file'))),
    'containers.logs.delete': async (context) => {
      await sessions.deleteLog(param(context, 'name'), param(context, 'file'));
      return done;
    },
  };
}

const bytes = (stream: Readable): RouteReply => ({
  kind: 'stream',
  headers: { 'content-type': 'application/octet-stream' },
  stream,
});
