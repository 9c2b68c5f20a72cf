import { useEffect, useState } from "react";

/** A value as it was when it last stayed the same for a while; for questions that typing should not repeat. */
export function useDebouncedValue<Value>(value: Value, afterMs = 400): Value {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return debounced;
}
