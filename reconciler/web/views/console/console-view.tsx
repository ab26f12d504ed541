// A terminal in a container, for users with that right: a shell, or the console where its system asks for a login. Its large library is
// loaded only here.
import { useEffect, useRef, useState } from 'preact/hooks';
import { reasonOf } from '../../data/api.ts';
import { canUseConsole } from '../../data/store.ts';
import { Closed } from '../../parts/closed.tsx';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { WordMark } from '../../parts/status.tsx';
import { place, to } from '../../data/router.ts';
import type { Ending } from './ending.ts';
import type { ConsoleState } from './terminal.ts';

const words = { connecting: 'waiting', open: 'online', closed: 'offline' } as const;

/** Prefers bash, as `gantry shell` does; busybox has only sh. */
const loginShell = 'cd "${HOME:-/}" 2>/dev/null; command -v bash >/dev/null 2>&1 && exec bash -l; exec sh -l';

const kinds = [
  { of: undefined, title: 'Shell', command: loginShell },
  { of: 'login', title: 'Login console', command: undefined },
] as const;

export function ConsoleView({ host, name }: { readonly host: string; readonly name: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<ConsoleState>('connecting');
  const [ending, setEnding] = useState<Ending>();
  const [attempt, setAttempt] = useState(0);
  const { project, of } = place.value.query;
  const mayUse = canUseConsole.value;
  const { command } = kinds.find((each) => each.of === of) ?? kinds[0];
  useEffect(() => {
    if (!mayUse || !box.current) return;
    const element = box.current;
    let stop: (() => void) | undefined;
    let isLeft = false;
    setState('connecting');
    setEnding(undefined);
    import('./terminal.ts').then(
      ({ openTerminal }) => {
        const what = { element, host, name, project, ...(command !== undefined && { command }) };
        if (!isLeft) stop = openTerminal({ ...what, onState: setState, onEnding: setEnding });
      },
      (error: unknown) => setEnding({ title: 'The console failed', message: reasonOf(error), isBad: true }),
    );
    return () => {
      isLeft = true;
      stop?.();
    };
  }, [mayUse, host, name, project, command, attempt]);
  if (!mayUse) return <Closed title="The console is not open to you" what="A console" />;
  return (
    <>
      <header class="view-head">
        <h1>
          <a href={to(['hosts', host, name], { project })}>{name}</a> <span class="soft">on {host}</span>
        </h1>
        {ending?.isBad !== false && <WordMark word={words[state]} />}
        {state === 'closed' && (
          <button class="button" onClick={() => setAttempt(attempt + 1)}>
            Connect again
          </button>
        )}
      </header>
      <nav class="tabs" aria-label="Kinds of terminals">
        {kinds.map((each) => (
          <a
            key={each.title}
            href={to(['console', host, name], { project, of: each.of })}
            aria-current={each.command === command ? 'page' : undefined}
          >
            {each.title}
          </a>
        ))}
      </nav>
      {ending?.isBad === true && <Trouble title={ending.title} message={ending.message} />}
      {ending?.isBad === false && (
        <Empty title={ending.title}>
          <p>{ending.message}</p>
        </Empty>
      )}
      {state === 'connecting' && ending === undefined && <Bones rows={1} label="Connecting" />}
      <div class="card fill terminal" ref={box} />
    </>
  );
}
