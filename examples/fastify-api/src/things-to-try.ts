import { DEMO_USER } from './handlers.ts';

/** What to paste into another terminal. */
export function thingsToTry(url: string): string {
  const json = `-H 'Content-Type: application/json'`;
  const status = `-s -o /dev/null -w '%{http_code}\\n'`;
  return `Try, in another terminal:

  # what is left of each limit; asking uses nothing
  curl ${url}/rate_limit

  # sign in, right or wrong: 10 a minute
  curl -i ${json} -d '${JSON.stringify(DEMO_USER)}' ${url}/sign-in

  # search: 30 a minute, so the last two are denied
  for i in $(seq 32); do curl ${status} '${url}/search?q=tea'; done

  # upload 8 MB, which costs 8 of 20: the third time is too soon
  for i in 1 2 3; do head -c 8000000 /dev/zero | curl ${status} -H 'Content-Type: application/octet-stream' --data-binary @- ${url}/uploads; done

  # everything else: 1000 a minute, together with all of the above
  curl -i ${url}/nowhere

Each denial is one line here:
`;
}
