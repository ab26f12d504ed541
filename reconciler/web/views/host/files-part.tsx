// Files of a container: browse directories, download and upload files. The path is part of the address.
import { Columns } from '../../parts/card.tsx';
import { useState } from 'preact/hooks';
import type { FileRow } from '../../../controller/contract/index.ts';
import { api, fileAddress, type ContainerPlace } from '../../data/api.ts';
import { bytesText } from '../../data/figures.ts';
import { place, to } from '../../data/router.ts';
import { useLoad } from '../../parts/load.ts';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { ask, filesChanged } from '../questions/questions.tsx';
import { crumbsOf, joined, resolved } from '../../data/paths.ts';

export function FilesPart({ container }: { readonly container: ContainerPlace }) {
  const { host, name, project } = container;
  const path = place.value.query['path'] ?? '/';
  const { data, error, again } = useLoad(
    (signal) => api.files(container, path, signal),
    [host, name, project, path, filesChanged.value],
  );
  const at = (next: string): string => to(['hosts', host, name, 'files'], { project, path: next });
  return (
    <section class="card" aria-label="Files">
      <header>
        <nav class="crumbs grow" aria-label="Path">
          {crumbsOf(path).map(({ title, path: next }) => (
            <a key={next} href={at(next)}>
              {title}
            </a>
          ))}
        </nav>
        {data?.type === 'directory' && <Upload container={container} directory={path} />}
      </header>
      {error !== undefined && <Trouble title="The path could not be read" message={error} again={again} />}
      {data === undefined && error === undefined && <Bones label="Loading files" />}
      {data !== undefined && error === undefined && data.type !== 'directory' && (
        <p class="pad">
          <FileLink container={container} path={path} row={{ name: path, ...data }} at={at} />
        </p>
      )}
      {data?.entries?.length === 0 && error === undefined && <Empty title="The directory is empty" />}
      {data?.entries !== undefined && data.entries.length > 0 && error === undefined && (
        <table class="table stacks">
          <Columns names={['Name', 'Size', 'Mode', 'Owner']} />
          <tbody>
            {data.entries.map((row) => (
              <tr key={row.name}>
                <td>
                  <FileLink container={container} path={joined(data.path, row.name)} row={row} at={at} />
                </td>
                <td class="narrow soft">{row.sizeBytes === undefined ? '' : bytesText(row.sizeBytes)}</td>
                <td class="narrow mono soft">{row.mode}</td>
                <td class="narrow soft">{row.uid !== undefined && `${row.uid}:${row.gid}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {data?.isCut === true && <p class="pad soft small">There are more entries than are shown.</p>}
    </section>
  );
}

interface FileLinkProps {
  readonly container: ContainerPlace;
  readonly path: string;
  readonly row: FileRow;
  readonly at: (path: string) => string;
}

function FileLink({ container, path, row: { name, type, target }, at }: FileLinkProps) {
  if (type === 'directory')
    return (
      <a class="name" href={at(path)}>
        {name}/
      </a>
    );
  if (type === 'symlink')
    return (
      <>
        <a class="name" href={at(resolved(path, target ?? ''))}>
          {name}
        </a>{' '}
        <span class="soft small">→ {target}</span>
      </>
    );
  if (type === 'other') return <span class="soft">{name} (no file)</span>;
  return (
    <a href={fileAddress(container, path)} download={name.split('/').at(-1)} aria-label={`Download ${name}`}>
      {name}
    </a>
  );
}

function Upload({ container, directory }: { readonly container: ContainerPlace; readonly directory: string }) {
  const [round, setRound] = useState(0);
  const take = (list: FileList | null): void => {
    if (list !== null && list.length > 0) ask({ kind: 'upload', container, directory, files: [...list] });
    // The same file can be chosen again.
    setRound(round + 1);
  };
  return (
    <label class="button upload">
      Upload files
      <input key={round} class="hidden" type="file" multiple onChange={(event) => take(event.currentTarget.files)} />
    </label>
  );
}
