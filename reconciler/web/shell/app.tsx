// The whole page: the login, or the frame with the current view.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { connection } from '../data/events.ts';
import { canView, overview, overviewError, readOverview, readSession, session, sessionError } from '../data/store.ts';
import { Notices } from '../parts/notices.tsx';
import { Bones, Empty, Trouble } from '../parts/states.tsx';
import { ConsoleView } from '../views/console/console-view.tsx';
import { DriftView } from '../views/plain/drift-view.tsx';
import { FleetView } from '../views/fleet/fleet-view.tsx';
import { LogsView } from '../views/plain/logs-view.tsx';
import { OperationsView } from '../views/plain/operations-view.tsx';
import { ContainerView } from '../views/host/container-view.tsx';
import { TimelineView } from '../views/plain/timeline-view.tsx';
import { HostView } from '../views/overview/host-view.tsx';
import { OverviewView } from '../views/overview/overview-view.tsx';
import { SetView } from '../views/set/set-view.tsx';
import { OpenQuestion } from '../views/questions/questions.tsx';
import { Bar } from './bar.tsx';
import { Login } from './login.tsx';
import { go, place } from '../data/router.ts';
import { Help } from './shortcuts.tsx';
import { Search } from './search.tsx';

export function App() {
  const known = session.value;
  const wantsDoor = place.value.path[0] === 'login' && known?.name === undefined;
  useEffect(() => {
    if (place.value.path[0] === 'login' && known?.name !== undefined) go('#/');
  }, [known?.name, place.value.path[0]]);
  if (known === undefined) {
    if (sessionError.value === undefined) return <Bones label="Loading" />;
    return (
      <main id="main">
        <Trouble title="No answer" message={sessionError.value} again={() => void readSession()} />
      </main>
    );
  }
  if (!canView.value || wantsDoor) return <Login session={known} />;
  return <Frame />;
}

function Frame() {
  const main = useRef<HTMLElement>(null);
  const skip = (event: MouseEvent): void => {
    event.preventDefault();
    main.current?.focus();
  };
  const room = place.value.path.slice(0, 2).join('/');
  useEffect(() => main.current?.scrollTo(0, 0), [room]);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Bar />
      <Strips />
      <main class="main" id="main" ref={main} tabIndex={-1}>
        <View />
      </main>
      <Notices />
      <Help />
      <Search />
      <OpenQuestion />
    </div>
  );
}

function View() {
  const [room, name, part, inner] = place.value.path;
  switch (room) {
    case undefined:
    case 'login':
      return <Titled title="Overview" view={<OverviewView />} />;
    case 'sets':
      return <Titled title={name ?? 'Sets'} view={<SetView key={name} name={name ?? ''} part={part} />} />;
    case 'hosts':
      if (part !== undefined)
        return (
          <Titled
            title={part}
            view={<ContainerView key={`${name} ${part}`} host={name ?? ''} name={part} part={inner} />}
          />
        );
      return <Titled title={name ?? 'Hosts'} view={<HostView key={name} name={name ?? ''} />} />;
    case 'operations':
      return <Titled title="Operations" view={<OperationsView />} />;
    case 'fleet':
      return <Titled title="Fleet" view={<FleetView />} />;
    case 'timeline':
      return <Titled title="Timeline" view={<TimelineView />} />;
    case 'drift':
      return <Titled title="Drift" view={<DriftView />} />;
    case 'logs':
      return <Titled title="Logs" view={<LogsView />} />;
    case 'console':
      return (
        <Titled
          title={`Console of ${part}`}
          view={<ConsoleView key={`${name} ${part}`} host={name ?? ''} name={part ?? ''} />}
        />
      );
    default:
      return (
        <Empty isPage title="There is nothing at this address">
          <a class="button" href="#/">
            To the overview
          </a>
        </Empty>
      );
  }
}

function Titled({ title, view }: { readonly title: string; readonly view: ComponentChildren }) {
  const name = overview.value?.controller.name;
  useEffect(() => {
    document.title = name === undefined ? `${title} · Gantry` : `${title} · ${name} · Gantry`;
  }, [title, name]);
  return <>{view}</>;
}

/** Warnings for the whole page: no events, another active controller, a refused configuration. */
function Strips() {
  const controller = overview.value?.controller;
  const refused = controller?.config?.problems ?? [];
  const isCut = connection.value === 'reconnecting' || connection.value === 'offline';
  return (
    <>
      {isCut && (
        <p class="strip bad" role="status">
          {connection.value === 'offline' ? 'This computer is offline.' : 'The connection to the controller was lost.'}{' '}
          What you see may be old; the page reconnects by itself.
        </p>
      )}
      {controller?.isActive === false && (
        <p class="strip" role="status">
          This controller waits: {controller.holder ?? 'another one'} is active.
        </p>
      )}
      {refused.length > 0 && (
        <div class="strip bad" role="alert">
          The newest configuration of the controller is not in use:
          <ul>
            {refused.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </div>
      )}
      {overviewError.value !== undefined && !isCut && (
        <p class="strip bad" role="alert">
          {overviewError.value}{' '}
          <button class="button" onClick={() => void readOverview()}>
            Try again
          </button>
        </p>
      )}
    </>
  );
}
