// Search over everything: sets, hosts, sources and objects of all sets, from any view. Enter opens the chosen one.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { SearchHit } from '../../controller/contract/index.ts';
import { api } from '../data/api.ts';
import { objectKey } from '../data/objects.ts';
import { go, to } from '../data/router.ts';
import { Dialog } from '../parts/dialog.tsx';
import { useLoad } from '../parts/load.ts';
import { StatusMark } from '../parts/status.tsx';

export const isSearchOpen = signal(false);

/** Search begins after this pause in typing. */
const typingPauseMs = 150;

export function Search() {
  return isSearchOpen.value ? <SearchDialog /> : null;
}

function SearchDialog() {
  const [words, setWords] = useState('');
  const [searched, setSearched] = useState('');
  const [active, setActive] = useState(0);
  useEffect(() => {
    const timer = setTimeout(() => setSearched(words.trim()), typingPauseMs);
    return () => clearTimeout(timer);
  }, [words]);
  const { data, error } = useLoad((stop) => (searched === '' ? nothing : api.search(searched, stop)), [searched]);
  const hits = data?.hits ?? [];
  const at = Math.min(active, Math.max(0, hits.length - 1));
  const close = (): void => void (isSearchOpen.value = false);
  const open = (hit: SearchHit): void => {
    close();
    go(placeOf(hit));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const hit = hits[at];
    if (event.key === 'ArrowDown') setActive(Math.min(hits.length - 1, at + 1));
    else if (event.key === 'ArrowUp') setActive(Math.max(0, at - 1));
    else if (event.key === 'Enter' && hit !== undefined) open(hit);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Search everything" close={close}>
      <input
        class="input"
        role="combobox"
        aria-label="Words to search for"
        aria-expanded={hits.length > 0}
        aria-controls="search-hits"
        aria-activedescendant={hits.length > 0 ? `hit-${at}` : undefined}
        placeholder="Names, hosts, messages"
        value={words}
        onInput={(event) => {
          setWords(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <p class="soft small" role="status">
        {error ?? countText(searched, data?.total)}
      </p>
      <div class="hits" id="search-hits" role="listbox" aria-label="Found">
        {hits.map((hit, number) => (
          <div
            key={`${hit.type} ${hit.set} ${hit.host} ${hit.name}`}
            id={`hit-${number}`}
            class={number === at ? 'hit active' : 'hit'}
            role="option"
            aria-selected={number === at}
            onClick={() => open(hit)}
          >
            {hit.status === undefined ? <span class="mark">{hit.type}</span> : <StatusMark status={hit.status} />}
            <span class="grow">
              <strong>{hit.name}</strong> <span class="soft small">{whereText(hit)}</span>
            </span>
          </div>
        ))}
      </div>
    </Dialog>
  );
}

const nothing = Promise.resolve({ hits: [], total: 0 });

const countText = (searched: string, total: number | undefined): string =>
  searched === '' ? 'Words may be in any order; all must occur.' : `${(total ?? 0).toLocaleString('en')} found`;

const whereText = ({ type, set, host, text }: SearchHit): string =>
  type === 'object' ? `on ${host} in ${set}` : [type, text].filter(Boolean).join(' · ');

function placeOf({ type, name, set = '', host = '' }: SearchHit): string {
  if (type === 'set') return to(['sets', name]);
  if (type === 'host') return to(['hosts', name]);
  return type === 'source' ? '#/' : to(['sets', set], { object: objectKey(host, name) });
}
