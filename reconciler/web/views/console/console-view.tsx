// A terminal in a container, for users with that right; its large library is loaded only here.
import { useEffect, useRef, useState } from 'preact/hooks';
import { reasonOf } from '../../data/api.ts';
import { canUseConsole } from '../../data/store.ts';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { WordMark } from '../../parts/status.tsx';
import { place } from '../../data/router.ts';
import type { ConsoleState } from './terminal.ts';

const words = { connecting: 'waiting', open: 'online', closed: 'offline' } as const;

export function ConsoleView({ host, name }: { readonly host: string; readonly name: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<ConsoleState>('connecting');
  const [problem, setProblem] = useState<string>();
  const [attempt, setAttempt] = useState(0);
  const project = place.value.query['project'];
  const mayUse = canUseConsole.value;
  useEffect(() => {
    if (!mayUse || !box.current) return;
    const element = box.current;
    let stop: (() => void) | undefined;
    let isLeft = false;
    setState('connecting');
    setProblem(undefined);
    import('./terminal.ts').then(
      ({ openTerminal }) => {
        if (!isLeft) stop = openTerminal({ element, host, name, project, onState: setState, onProblem: setProblem });
      },
      (error: unknown) => setProblem(reasonOf(error)),
    );
    return () => {
      isLeft = true;
      stop?.();
    };
  }, [mayUse, host, name, project, attempt]);
  if (!mayUse) {
    return (
      <Empty isPage title="The console is not open to you">
        <p>It needs the role operate, and `console: true` in the controller's configuration.</p>
      </Empty>
    );
  }
  return (
    <>
      <header class="view-head">
        <h1>
          {name} <span class="soft">on {host}</span>
        </h1>
        <WordMark word={words[state]} />
        {state === 'closed' && (
          <button class="button" onClick={() => setAttempt(attempt + 1)}>
            Connect again
          </button>
        )}
      </header>
      {problem !== undefined && <Trouble title="The console has ended" message={problem} />}
      {state === 'connecting' && problem === undefined && <Bones rows={1} label="Connecting" />}
      <div class="card fill terminal" ref={box} />
    </>
  );
}
