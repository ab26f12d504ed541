// Sources: what they deliver now, who wrote it, and why the last check failed.
import { Card, Columns } from '../../parts/card.tsx';
import type { SourceStatus } from '../../../controller/contract/index.ts';
import { Empty } from '../../parts/states.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { Ago } from '../../parts/time.tsx';
import { Revision } from '../../parts/revision.tsx';

export function SourcesCard({ sources }: { readonly sources: readonly SourceStatus[] }) {
  return (
    <Card id="sources-title" title="Sources" count={sources.length}>
      {sources.length === 0 ? (
        <Empty title="No sources">
          <p>Declare one below `sources` in gantry.yaml.</p>
        </Empty>
      ) : (
        <table class="table stacks">
          <Columns names={['Status', 'Source', 'Revision', 'Checked']} />
          <tbody>
            {sources.map((source) => (
              <Row key={source.name} source={source} />
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function Row({ source }: { readonly source: SourceStatus }) {
  const { name, kind, url, revision, message, by, checkedAt, verified, error } = source;
  return (
    <tr>
      <td class="narrow">
        <StatusMark
          status={error === undefined ? (checkedAt === undefined ? 'waiting' : 'synced') : 'failed'}
          text={error === undefined ? (checkedAt === undefined ? 'not yet' : 'ready') : 'failed'}
        />
      </td>
      <td>
        <span class="name">{name}</span> <span class="soft small">{kind}</span>
        <div class="soft small">{url}</div>
        {error !== undefined && <div class="small bad-text">{error}</div>}
      </td>
      <td class="wide">
        <Revision revision={revision} />{' '}
        <span class="small">
          {message} {by !== undefined && <span class="soft">by {by}</span>}
        </span>
        {verified !== undefined && <div class="small good-text">Signed by {verified}</div>}
      </td>
      <td class="narrow soft">{checkedAt === undefined ? 'never' : <Ago at={checkedAt} />}</td>
    </tr>
  );
}
