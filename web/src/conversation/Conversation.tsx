export default function Conversation({ id }: { readonly id: string }) {
  return <p>{id}</p>;
}
