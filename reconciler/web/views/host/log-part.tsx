// The live console output of a container. It scrolls along while its end is visible.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { api, reasonOf, type ContainerPlace } from '../../data/api.ts';
import { Bones, Empty } from '../../parts/states.tsx';
import { plainLog } from './log-text.ts';

const everyMs = 1000;

export function LogPart({ container }: { readonly container: ContainerPlace }) {
  const { host, name, project } = container;
  const [text, setText] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const look = async (): Promise<void> => {
      try {
        if (!document.hidden) setText(plainLog(await api.containerLog({ host, name, project }, stop.signal)));
        setProblem(undefined);
      } catch (error) {
        if (!stop.signal.aborted) setProblem(reasonOf(error));
      }
      if (!stop.signal.aborted) timer = setTimeout(() => void look(), everyMs);
    };
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [host, name, project]);
  useLayoutEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const onScroll = ({
    currentTarget: { scrollTop, scrollHeight, clientHeight },
  }: {
    readonly currentTarget: Element;
  }) => {
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
  };
  return (
    <section class="card fill" aria-label="Log">
      {problem !== undefined && (
        <p class="problem lines" role="alert">
          The log could not be read: {problem}
        </p>
      )}
      {text === undefined && problem === undefined && <Bones label="Loading the log" />}
      {text === '' && <Empty title="It wrote nothing to its console" />}
      {text !== undefined && text !== '' && (
        <pre class="container-log" tabIndex={0} ref={box} onScroll={onScroll} aria-label={`Log of ${name}`}>
          {text}
        </pre>
      )}
    </section>
  );
}
