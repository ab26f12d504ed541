// The login, with a token or through the OpenID Connect issuer, as the controller offers.
import { useState } from 'preact/hooks';
import type { Session } from '../../controller/contract/index.ts';
import { api, reasonOf } from '../data/api.ts';
import { beginSession } from '../data/store.ts';
import { Icon } from '../parts/icons.tsx';

export function Login({ session }: { readonly session: Session }) {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const token = new FormData(event.currentTarget as HTMLFormElement).get('token');
    setBusy(true);
    api
      .logIn(typeof token === 'string' ? token.trim() : '')
      .then(beginSession)
      .catch((error: unknown) => setProblem(reasonOf(error)))
      .finally(() => setBusy(false));
  };
  return (
    <main class="door" id="main" tabIndex={-1}>
      <div class="card door-card">
        <h1>
          <Icon name="brand" size={22} /> Gantry
        </h1>
        {session.login.oidc && (
          <a class="button main-action" href="./auth/login">
            Log in with your organization
          </a>
        )}
        {session.login.oidc && session.login.token && <p class="soft or">or</p>}
        {session.login.token && (
          <form class="rows flush" onSubmit={submit}>
            <label class="field">
              <span>Token</span>
              <input class="input" type="password" name="token" autocomplete="current-password" required />
            </label>
            {problem !== undefined && (
              <p class="problem lines" role="alert">
                {problem}
              </p>
            )}
            <button class="button main-action" disabled={isBusy}>
              {isBusy ? 'Working …' : 'Log in'}
            </button>
          </form>
        )}
        {!session.login.oidc && !session.login.token && (
          <>
            <p>
              The address that <code>gantry ui</code> printed has logged in already, or its session has ended: start{' '}
              <code>gantry ui</code> again and open the new one.
            </p>
            <p>
              A controller needs <code>auth</code> or <code>anonymous: view</code> in its configuration.
            </p>
          </>
        )}
      </div>
    </main>
  );
}
