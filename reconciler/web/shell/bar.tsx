// The bar at the top: links to the views, whether events arrive, and who is logged in.
import { api, reasonOf } from '../data/api.ts';
import { connection, type Connection } from '../data/events.ts';
import { endSession, operations, overview, session } from '../data/store.ts';
import { Icon } from '../parts/icons.tsx';
import { notify } from '../parts/notices.tsx';
import { place } from '../data/router.ts';
import { isSearchOpen } from './search.tsx';
import { isHelpOpen } from './shortcuts.tsx';
import { nextTheme, themeChoice } from '../data/theme.ts';

const tabs = [
  { name: 'Overview', address: '#/', rooms: [undefined, 'sets'] },
  { name: 'Fleet', address: '#/fleet', rooms: ['fleet', 'hosts'] },
  { name: 'Timeline', address: '#/timeline', rooms: ['timeline'] },
  { name: 'Operations', address: '#/operations', rooms: ['operations'] },
  { name: 'Drift', address: '#/drift', rooms: ['drift'] },
  { name: 'Logs', address: '#/logs', rooms: ['logs'] },
];

export function Bar() {
  const room = place.value.path[0];
  const running = operations.value.filter(({ status }) => status === 'running').length;
  return (
    <header class="bar">
      <a class="brand" href="#/" title={overview.value?.controller.name ?? 'Gantry'}>
        <Icon name="brand" size={20} />
        <span class="name">{overview.value?.controller.name ?? 'Gantry'}</span>
      </a>
      <nav class="tabs" aria-label="Main">
        {tabs.map(({ name, address, rooms }) => (
          <a key={name} href={address} aria-current={rooms.includes(room) ? 'page' : undefined}>
            {name}
            {name === 'Operations' && running > 0 && (
              <span class="mark status-syncing" title={`${running} running`}>
                {running}
              </span>
            )}
          </a>
        ))}
      </nav>
      <div class="bar-end">
        <Live connection={connection.value} />
        <button
          class="button plain icon-only"
          aria-label="Search everything"
          title="Search everything (s)"
          onClick={() => (isSearchOpen.value = true)}
        >
          <Icon name="search" size={16} />
        </button>
        <button
          class="button plain icon-only"
          aria-label={`Theme: ${themeChoice.value}`}
          title={`Theme: ${themeChoice.value}`}
          onClick={nextTheme}
        >
          <Icon name={themeChoice.value} size={16} />
        </button>
        <button
          class="button plain icon-only"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts"
          onClick={() => (isHelpOpen.value = true)}
        >
          <Icon name="help" size={16} />
        </button>
        <User />
      </div>
    </header>
  );
}

const liveTexts: Readonly<Record<Connection, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  offline: 'Offline',
};
const liveTones = { connecting: 'waiting', live: 'synced', reconnecting: 'drifted', offline: 'failed' } as const;

function Live({ connection }: { readonly connection: Connection }) {
  return (
    <span class={`live status-${liveTones[connection]}`} role="status">
      <i class="dot" aria-hidden="true" />
      {liveTexts[connection]}
    </span>
  );
}

function User() {
  const { name, role, login, may = [] } = session.value ?? {};
  const leave = (): void => {
    api.logOut().then(endSession, (error: unknown) => notify(reasonOf(error), true));
  };
  return (
    <>
      <span class="who small" title={role === 'operate' ? 'You may view and operate' : 'You may view'}>
        {name ?? 'Anonymous'}
        {role === 'view' && may.length === 0 && <span class="soft"> · view only</span>}
      </span>
      {name === undefined && (login?.token || login?.oidc) && (
        <a class="button" href="#/login">
          Log in
        </a>
      )}
      {name !== undefined && (
        <button class="button plain icon-only" aria-label="Log out" title="Log out" onClick={leave}>
          <Icon name="leave" size={16} />
        </button>
      )}
    </>
  );
}
