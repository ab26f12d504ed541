// Use cases inside a container that clients follow live: commands, its console, its logs.
import type { Readable } from 'node:stream';
import type { ConsolePost, ExecPost } from '../../../api/container/container-exec.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Caller } from '../../shared/caller.ts';
import type { ScheduledTask } from '../../shared/scheduler.ts';
import { clearConsoleLog, openConsole, readConsoleLog } from './console.ts';
import type { ContainerDeps } from '../deps.ts';
import { execContainer } from './exec.ts';
import { deleteLog, listLogs, logTask, readLog } from './logs.ts';

export type SessionDeps = Pick<
  ContainerDeps,
  'records' | 'runtime' | 'operations' | 'events' | 'view' | 'logsDir' | 'clock' | 'log'
>;

export interface ContainerSessions {
  exec(caller: Caller, name: string, body: ExecPost): Operation;
  console(caller: Caller, name: string, body: ConsolePost): Operation;
  consoleLog(name: string): Promise<Readable>;
  clearConsoleLog(name: string): Promise<void>;
  logs(name: string): Promise<readonly string[]>;
  log(name: string, file: string): Promise<Readable>;
  deleteLog(name: string, file: string): Promise<void>;
  readonly tasks: readonly ScheduledTask[];
}

export function containerSessions(deps: SessionDeps): ContainerSessions {
  return {
    exec: (caller, name, body) => execContainer(deps, caller, name, body),
    console: (caller, name, body) => openConsole(deps, caller, name, body),
    consoleLog: (name) => readConsoleLog(deps, name),
    clearConsoleLog: (name) => clearConsoleLog(deps, name),
    logs: (name) => listLogs(deps, name),
    log: (name, file) => readLog(deps, name, file),
    deleteLog: (name, file) => deleteLog(deps, name, file),
    tasks: [logTask(deps)],
  };
}
