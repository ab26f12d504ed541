// One container: its usage, its snapshots, its console output and its files.
import { Card } from '../../parts/card.tsx';
import type { ContainerPlace } from '../../data/api.ts';
import { useContainers, type HostContainers } from '../../data/containers.ts';
import { bytesText, cpuText, ratesOf } from '../../data/figures.ts';
import { place, to } from '../../data/router.ts';
import { canUseConsole, overview } from '../../data/store.ts';
import { Closed } from '../../parts/closed.tsx';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { ContainerStatus } from './container-status.tsx';
import { FilesPart } from './files-part.tsx';
import { LogPart } from './log-part.tsx';
import { PowerButtons } from './power-buttons.tsx';
import { SnapshotsPart } from './snapshots-part.tsx';
import type { ContainerView as Shown } from '../../../controller/contract/index.ts';

const parts = [
  { part: undefined, title: 'Now' },
  { part: 'log', title: 'Log' },
  { part: 'files', title: 'Files' },
] as const;

interface ContainerViewProps {
  readonly host: string;
  readonly name: string;
  readonly part: string | undefined;
}

export function ContainerView({ host, name, part }: ContainerViewProps) {
  const project = place.value.query['project'];
  const now = useContainers(host, project, canUseConsole.value);
  const found = now.list?.containers.find((one) => one.name === name);
  const container = { host, name, project };
  if (!canUseConsole.value) return <Closed title="Containers are not open to you" what="Work in containers" />;
  if (found === undefined) return <Missing host={host} name={name} now={now} />;
  return (
    <>
      <Head container={container} found={found} />
      <nav class="tabs" aria-label="Parts of the container">
        {parts.map((each) => (
          <a
            key={each.title}
            href={to(['hosts', host, name, ...(each.part === undefined ? [] : [each.part])], { project })}
            aria-current={each.part === part ? 'page' : undefined}
          >
            {each.title}
          </a>
        ))}
      </nav>
      {now.error !== undefined && (
        <p class="problem lines" role="alert">
          {now.error}
        </p>
      )}
      {part === undefined && (
        <>
          <Figures now={now} name={name} found={found} />
          <SnapshotsPart container={container} snapshots={found.snapshots} />
        </>
      )}
      {part === 'log' && <LogPart container={container} />}
      {part === 'files' && <FilesPart key={place.value.query['path']} container={container} />}
    </>
  );
}

function Missing({ host, name, now }: { readonly host: string; readonly name: string; readonly now: HostContainers }) {
  if (now.error !== undefined) return <Trouble title="The container could not be read" message={now.error} />;
  if (now.list === undefined) return <Bones rows={6} label="Loading the container" />;
  return (
    <Empty isPage title={`There is no container ${name} on ${host}`}>
      <a class="button" href={to(['hosts', host])}>
        To the host
      </a>
    </Empty>
  );
}

function Head({ container, found }: { readonly container: ContainerPlace; readonly found: Shown }) {
  const { host, name, project } = container;
  const sets = (overview.value?.sets ?? []).filter((set) => set.hosts.some((each) => each.host === host));
  const address = project === undefined ? `container/${name}` : `container/${name}@${project}`;
  return (
    <header class="set-head">
      <div class="set-title">
        <p class="small">
          <a href="#/">Overview</a> <span class="soft">/</span> <a href={to(['hosts', host])}>{host}</a>{' '}
          <span class="soft">/ container</span>
        </p>
        <h1>
          {name} <ContainerStatus status={found.status} />
        </h1>
        <p class="soft small facts">
          {found.addresses.map((one) => (
            <span key={one} class="mono">
              {one}
            </span>
          ))}
          <span>profiles {found.profiles.join(', ') || 'none'}</span>
          {sets.length === 1 && (
            <a href={to(['sets', sets[0]?.name ?? ''], { object: `${host} ${address}` })}>
              What differs from the manifests
            </a>
          )}
        </p>
        {found.description !== undefined && <p>{found.description}</p>}
      </div>
      <PowerButtons container={container} status={found.status} />
    </header>
  );
}

interface FiguresProps {
  readonly now: HostContainers;
  readonly name: string;
  readonly found: Shown;
}

function Figures({ now, name, found: { figures } }: FiguresProps) {
  const samples = now.samples.get(name) ?? [];
  const rates = ratesOf(samples);
  const last = rates.at(-1);
  return (
    <Card id="figures-title" title="Figures">
      {figures === undefined ? (
        <Empty title="It does not run" />
      ) : (
        <div class="sparks pad">
          <Sparkline
            label="CPU"
            value={last === undefined ? '…' : cpuText(last.cpu)}
            points={rates.map(({ cpu }) => cpu)}
            max={0.1}
          />
          <Sparkline
            label="Memory"
            value={`${bytesText(figures.memoryBytes)}, peak ${bytesText(figures.memoryPeakBytes)}`}
            points={samples.map((one) => one.figures.memoryBytes)}
            max={figures.memoryPeakBytes}
          />
          <Sparkline
            label="Received"
            value={`${bytesText(last?.receivedPerS ?? 0)}/s`}
            points={rates.map(({ receivedPerS }) => receivedPerS)}
            max={1024}
          />
          <Sparkline
            label="Sent"
            value={`${bytesText(last?.sentPerS ?? 0)}/s`}
            points={rates.map(({ sentPerS }) => sentPerS)}
            max={1024}
          />
          <p class="soft small">
            {figures.processes} processes
            {figures.diskBytes !== undefined && `, ${bytesText(figures.diskBytes)} on disk`}
          </p>
        </div>
      )}
    </Card>
  );
}

interface SparklineProps {
  readonly label: string;
  readonly value: string;
  readonly points: readonly number[];
  /** The largest value of the scale; absent: the largest point. */
  readonly max?: number;
}

const [width, height] = [160, 36];

/** A small curve of the last minutes, with its newest value as words. */
function Sparkline({ label, value, points, max }: SparklineProps) {
  const top = Math.max(max ?? 0, ...points, Number.MIN_VALUE);
  const step = width / Math.max(1, points.length - 1);
  const line = points.map(
    (point, at) => `${(at * step).toFixed(1)},${(height - 2 - (point / top) * (height - 4)).toFixed(1)}`,
  );
  return (
    <figure class="spark">
      <figcaption>
        <span class="soft small">{label}</span> <strong>{value}</strong>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        <polyline points={line.join(' ')} />
      </svg>
    </figure>
  );
}
