// The actions that the status of a container allows.
import type { PowerAction } from '../../../controller/contract/index.ts';
import type { ContainerPlace } from '../../data/api.ts';
import { to } from '../../data/router.ts';
import { Icon, type IconName } from '../../parts/icons.tsx';
import { upper } from '../questions/by-hand.tsx';
import { ask } from '../questions/questions.tsx';

const icons: Readonly<Record<PowerAction, IconName>> = {
  start: 'resume',
  stop: 'stopped',
  restart: 'syncing',
  freeze: 'suspended',
  unfreeze: 'resume',
};

const offered: Readonly<Record<string, readonly PowerAction[]>> = {
  Running: ['stop', 'restart', 'freeze'],
  Frozen: ['unfreeze', 'stop'],
  Stopped: ['start'],
  Error: ['stop', 'start'],
};

export interface PowerButtonsProps {
  readonly container: ContainerPlace;
  readonly status: string;
  /** For a row of a list: only icons. */
  readonly isSmall?: boolean;
}

export function PowerButtons({ container, status, isSmall = false }: PowerButtonsProps) {
  const { host, name, project } = container;
  const actions = (offered[status] ?? []).filter((action) => !isSmall || action !== 'freeze');
  return (
    <div class={isSmall ? 'actions one-line' : 'actions'}>
      {actions.map((action) => (
        <button
          key={action}
          class={isSmall ? 'button plain icon-only' : 'button'}
          aria-label={`${upper(action)} ${name}`}
          title={`${upper(action)} ${name}`}
          onClick={() => ask({ kind: 'power', container, action })}
        >
          <Icon name={icons[action]} /> {!isSmall && upper(action)}
        </button>
      ))}
      {status === 'Running' && (
        <a
          class={isSmall ? 'button plain icon-only' : 'button'}
          aria-label={`Console of ${name}`}
          title={`Console of ${name}`}
          href={to(['console', host, name], { project })}
        >
          <Icon name="console" /> {!isSmall && 'Console'}
        </a>
      )}
    </div>
  );
}
