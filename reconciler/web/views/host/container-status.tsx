// The status of a container in the words of its host.
import { Icon, type IconName } from '../../parts/icons.tsx';

const looks: Readonly<Record<string, readonly [tone: string, icon: IconName]>> = {
  Running: ['synced', 'synced'],
  Stopped: ['unknown', 'stopped'],
  Frozen: ['suspended', 'suspended'],
  Error: ['failed', 'failed'],
};

export function ContainerStatus({ status }: { readonly status: string }) {
  const [tone, icon] = looks[status] ?? ['waiting', 'waiting'];
  return (
    <span class={`mark status-${tone}`}>
      <Icon name={icon} size={12} />
      {status.toLowerCase()}
    </span>
  );
}
