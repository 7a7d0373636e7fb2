// Asks whoever is signed in whether the key of a link that was opened takes the place of theirs.
import { Dialog } from '../parts/Dialog.tsx';
import { useTexts } from '../texts/texts.tsx';
import { useDoor } from './session.tsx';

export function OtherKey() {
  const { signIn } = useTexts();
  const { offered, answer } = useDoor();
  if (offered === undefined) return null;
  return (
    <Dialog
      title={signIn.otherTitle}
      onClose={() => answer(false)}
      footer={
        <>
          <button type="button" className="button" onClick={() => answer(false)}>
            {signIn.keepOwn}
          </button>
          <button type="button" className="button danger" onClick={() => answer(true)}>
            {signIn.takeOther}
          </button>
        </>
      }
    >
      <p>{signIn.otherText}</p>
    </Dialog>
  );
}
